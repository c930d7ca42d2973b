// Shared by the tests of data/: a temporary directory, the text of an error, small corpora.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "data/text/corpus.h"
#include "data/text/instances.h"
#include "data/text/vocabulary.h"
#include "tests/support/error_of.h"

namespace strata::data {

inline const std::filesystem::path kGolden =
    std::filesystem::path(STRATA_SOURCE_DIR) / "tests" / "golden";

inline nlohmann::json read_golden(const std::string& name) {
  return nlohmann::json::parse(read_file(kGolden / name));
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            fmt::format("strata-data.{}.{}", ::getpid(), count++);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

// Limits the size of files to `bytes` during its lifetime: write() then fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_;
  void (*handler_)(int);
};

using testing_support::error_of;

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns words that no tokenizer splits if they are in the vocabulary: a, b, ..., z, aa, ab, ...
inline std::string word(size_t number) {
  std::string text;
  for (++number; number > 0; number = (number - 1) / 26) {
    text.insert(text.begin(), static_cast<char>('a' + (number - 1) % 26));
  }
  return text;
}

inline constexpr int32_t kSpecialEntries = 5;

// The special entries, then word(0) ... word(words - 1).
inline Vocabulary word_vocabulary(size_t words) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (size_t i = 0; i < words; ++i) text += word(i) + "\n";
  return Vocabulary::parse(text, "test vocabulary");
}

// A sample's two texts, with masked tokens restored, without [CLS] and [SEP].
struct Unmasked {
  std::vector<int32_t> first, second;
};

inline Unmasked unmask(const Instances& instances, size_t i) {
  std::vector<int32_t> tokens(
      instances.tokens.begin() + static_cast<ptrdiff_t>(instances.token_offsets[i]),
      instances.tokens.begin() + static_cast<ptrdiff_t>(instances.token_offsets[i + 1]));
  for (uint64_t m = instances.masked_offsets[i]; m < instances.masked_offsets[i + 1]; ++m) {
    tokens[static_cast<size_t>(instances.masked_positions[m])] = instances.masked_ids[m];
  }
  const auto middle = tokens.begin() + instances.first_lengths[i];
  return {{tokens.begin() + 1, middle - 1}, {middle, tokens.end() - 1}};
}

}  // namespace strata::data
