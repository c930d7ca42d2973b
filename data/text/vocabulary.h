// A WordPiece vocabulary: vocab.txt, one entry per line; the token id is the line number from 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata::data {

class Vocabulary {
 public:
  // Throws Error if the file cannot be read, is empty, has an empty or repeated line, or lacks
  // [UNK], [CLS], [SEP] or [MASK].
  static Vocabulary read(const std::filesystem::path& path);

  // The same from text; `name` stands for the file in messages.
  static Vocabulary parse(std::string_view text, const std::string& name);

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  std::optional<int32_t> find(std::string_view entry) const;
  const std::string& entry(int32_t id) const { return entries_[static_cast<size_t>(id)]; }
  uint64_t hash() const { return hash_; }  // fingerprint of the text

  int32_t unknown() const { return unknown_; }
  int32_t classification() const { return classification_; }
  int32_t separator() const { return separator_; }
  int32_t mask() const { return mask_; }

 private:
  Vocabulary() = default;

  std::vector<std::string> entries_;
  std::unordered_map<std::string_view, int32_t> ids_;  // keys are views of entries_
  uint64_t hash_ = 0;
  int32_t unknown_ = 0, classification_ = 0, separator_ = 0, mask_ = 0;
};

}  // namespace strata::data
