// Private ids: four words that replace a system's name before its results are public.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace strata::scoring {

// Returns four words of the text's SHA-256, joined by '-'. Each is the XOR of eight of its bytes,
// as an index in humanhash's list of 256 words.
std::string words_of(std::string_view text);

// Returns the "private_id" in <system folder>/privateid.json, or an empty text without the file.
// Throws Error for a file without an id.
std::string read_private_id(const std::filesystem::path& system_folder);

// Derives each system's id from its description, and also from its name if two descriptions are
// equal.
class PrivateIds {
 public:
  // `system` is the name of its folder. Throws Error if the description lacks a field.
  std::string id_of(const nlohmann::json& description, const std::string& system);

 private:
  std::set<std::string> known_;
};

// Writes privateid.json. Throws Error if it already exists.
void write_private_id(const std::filesystem::path& system_folder, const std::string& id);

}  // namespace strata::scoring
