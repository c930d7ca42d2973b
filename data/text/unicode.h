// The Unicode rules of BERT's basic tokenizer, as a version of Unicode has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/text/unicode_version.h"

namespace strata::data {

// Code points of UTF-8 `bytes`; malformed bytes are left out.
std::u32string decode_utf8(std::string_view bytes);

// Bytes of `bytes` that belong to no code point of UTF-8, and where the first of them is.
struct MalformedBytes {
  uint64_t count = 0;
  uint64_t first = 0;  // offset; meaningless if there are none
};
MalformedBytes count_malformed(std::string_view bytes);

void append_utf8(char32_t code_point, std::string& out);

// Anything that separates words: ASCII and Unicode spaces, line and paragraph separators, and the
// control characters that move the cursor.
bool is_space(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// Left out of the text: NUL, U+FFFD, and control or format characters other than tab, line feed and
// carriage return.
bool is_dropped(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// Stands as a word of its own: Unicode punctuation and every ASCII symbol.
bool is_punctuation(char32_t code_point, UnicodeVersion version = kNewestUnicode);

// An ideograph of Chinese, Japanese or Korean; stands as a word of its own.
bool is_cjk(char32_t code_point);

// Lower case of `word`; a capital sigma that ends it becomes a final sigma.
std::u32string lower_case(std::u32string_view word, UnicodeVersion version = kNewestUnicode);

// Canonical decomposition of `word` without its nonspacing marks.
std::u32string strip_accents(std::u32string_view word, UnicodeVersion version = kNewestUnicode);

// Whether two versions treat a character alike; `beside_sigma`: also where a capital sigma of the
// same word asks whether it is a letter.
bool treated_alike(char32_t code_point, UnicodeVersion a, UnicodeVersion b, bool beside_sigma);

}  // namespace strata::data
