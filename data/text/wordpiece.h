// BERT's uncased WordPiece tokenization (Devlin et al. 2018, and its published tokenizer): cleans,
// surrounds ideographs with spaces, lower-cases, strips accents, splits at punctuation, then
// matches the longest pieces first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text/unicode_version.h"
#include "data/text/vocabulary.h"

namespace strata::data {

// Caches the pieces of up to 262,144 words, so each thread should keep one. `vocabulary` must
// outlive it.
class WordPiece {
 public:
  // A longer word, in code points, becomes [UNK].
  static constexpr size_t kLongestWord = 200;

  explicit WordPiece(const Vocabulary& vocabulary, UnicodeVersion unicode = kNewestUnicode)
      : vocabulary_(vocabulary), unicode_(unicode) {}

  // Appends the token ids of UTF-8 `text`. Drops malformed bytes. Special tokens such as [MASK] in
  // the text are ordinary text.
  void tokenize(std::string_view text, std::vector<int32_t>& out);

 private:
  void tokenize_chunk(std::string_view chunk, std::vector<int32_t>& out);
  void tokenize_ascii(std::string_view chunk, std::vector<int32_t>& out);
  void tokenize_word(std::u32string_view word, std::vector<int32_t>& out);
  void match_pieces(std::string_view word, size_t code_points, std::vector<int32_t>& out);

  const Vocabulary& vocabulary_;
  const UnicodeVersion unicode_;
  std::unordered_map<std::string, std::vector<int32_t>> seen_;
  std::string chunk_, plain_, marked_;  // reused to avoid allocation
};

}  // namespace strata::data
