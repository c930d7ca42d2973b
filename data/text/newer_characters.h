// The characters of a text on which two versions of Unicode make other tokens.
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
  // Looks for characters that `used`, the version that text is tokenized by, and `reference` treat
  // otherwise.
  explicit NewerCharacters(UnicodeVersion used, UnicodeVersion reference = kReferenceUnicode)
      : used_(used), reference_(reference) {}

  // Adds those of `text`, which is all of `file`: UTF-8, a sentence a line.
  void add(std::string_view text, const std::filesystem::path& file);
  void add(const NewerCharacters& other);

  struct Found {
    uint64_t count = 0;
    std::filesystem::path file;  // the first one, by name, and the first byte in it
    uint64_t offset = 0;
  };
  const std::map<char32_t, Found>& found() const { return found_; }
  // What was found, for people; empty where nothing was.
  std::string describe() const;

 private:
  void add(char32_t code_point, const Found& found);
  void add_line(std::string_view line, const std::filesystem::path& file, uint64_t offset);

  UnicodeVersion used_, reference_;
  std::map<char32_t, Found> found_;
};

}  // namespace strata::data
