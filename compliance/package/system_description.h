// Checks of systems/<system>.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compliance/package/section.h"

namespace strata::compliance {

// All required fields, and from round 4.0 of training on an availability among those allowed.
Section check_system_description(const std::filesystem::path& path, std::string_view usage,
                                 std::string_view ruleset);
// The same of a text; `name` stands for the path.
Section check_system_text(std::string_view json, const std::string& name, std::string_view usage,
                          std::string_view ruleset);

// The "division" field; empty where there is none. Throws ReadError where nobody can tell.
std::string system_division(const std::filesystem::path& path);

}  // namespace strata::compliance
