// Private ids: four words that stand for a system before its results are public.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace strata::results {

// Four words, with '-' between, of the text's SHA-256: each the XOR of eight of its bytes, as a
// place in humanhash's list of 256 words.
std::string words_of(std::string_view text);

// The "private_id" in <system folder>/privateid.json; empty where there is none. Throws Error for a
// file that is there and has none.
std::string read_private_id(const std::filesystem::path& system_folder);

// Gives each system an id of its description, and of its name as well where two descriptions are
// the same.
class PrivateIds {
 public:
  // `system`: the name of its folder. Throws Error where the description lacks a field.
  std::string id_of(const nlohmann::json& description, const std::string& system);

 private:
  std::set<std::string> known_;
};

// As privateid.json has it; throws Error where there is a file already.
void write_private_id(const std::filesystem::path& system_folder, const std::string& id);

}  // namespace strata::results
