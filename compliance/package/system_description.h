// Checks of systems/<system>.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compliance/package/section.h"

namespace strata::compliance {

// Requires all fields and, from round 4.0 of training on, an allowed availability.
Section check_system_description(const std::filesystem::path& path, std::string_view usage,
                                 std::string_view ruleset);
// Checks a text; `name` stands for the path.
Section check_system_text(std::string_view json, const std::string& name, std::string_view usage,
                          std::string_view ruleset);

// Returns the "division" field, or an empty text if there is none. Throws ReadError if the file
// cannot be read.
std::string system_division(const std::filesystem::path& path);

}  // namespace strata::compliance
