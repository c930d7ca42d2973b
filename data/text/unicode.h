// The Unicode rules of BERT's basic tokenizer, for a given version of Unicode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/text/unicode_version.h"

namespace strata::data {

// Returns the code points of UTF-8 `bytes`; drops malformed bytes.
std::u32string decode_utf8(std::string_view bytes);

// Bytes that belong to no code point of UTF-8: their number and the first one.
struct MalformedBytes {
  uint64_t count = 0;
  uint64_t first = 0;  // offset; meaningless if count is 0
};
MalformedBytes count_malformed(std::string_view bytes);

void append_utf8(char32_t code_point, std::string& out);

// True for characters that separate words: ASCII and Unicode spaces, line and paragraph separators,
// and control characters that move the cursor.
bool is_space(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// True for characters that the tokenizer drops: NUL, U+FFFD, and control or format characters other
// than tab, line feed and carriage return.
bool is_dropped(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// True for characters that form a word of their own: Unicode punctuation and every ASCII symbol.
bool is_punctuation(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// True for a Chinese, Japanese or Korean ideograph, which forms a word of its own.
bool is_cjk(char32_t code_point);

// Returns the lower case of `word`; a capital sigma at its end becomes a final sigma.
std::u32string lower_case(std::u32string_view word, UnicodeVersion version = kNewestUnicode);

// Returns the canonical decomposition of `word` without its nonspacing marks.
std::u32string strip_accents(std::u32string_view word, UnicodeVersion version = kNewestUnicode);

// True if two versions treat a character alike. `beside_sigma`: the word has a capital sigma, whose
// lower case depends on which neighbours are letters.
bool treated_alike(char32_t code_point, UnicodeVersion a, UnicodeVersion b, bool beside_sigma);

}  // namespace strata::data
