// Finds the characters of a text that two versions of Unicode tokenize differently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "data/text/unicode_version.h"

namespace strata::data {

class NewerCharacters {
 public:
  // Looks for characters that `used`, the tokenizer's version, and `reference` treat differently.
  explicit NewerCharacters(UnicodeVersion used, UnicodeVersion reference = kReferenceUnicode)
      : used_(used), reference_(reference) {}

  // Adds the characters of `text`, the whole contents of `file`: UTF-8, one sentence per line.
  void add(std::string_view text, const std::filesystem::path& file);
  void add(const NewerCharacters& other);

  struct Found {
    uint64_t count = 0;
    std::filesystem::path file;  // first file, by name, and the first byte offset in it
    uint64_t offset = 0;
  };
  const std::map<char32_t, Found>& found() const { return found_; }
  // Describes the findings for users; empty without findings.
  std::string describe() const;

 private:
  void add(char32_t code_point, const Found& found);
  void add_line(std::string_view line, const std::filesystem::path& file, uint64_t offset);

  UnicodeVersion used_, reference_;
  std::map<char32_t, Found> found_;
};

}  // namespace strata::data
