#include "data/text/unicode.h"

#include <gtest/gtest.h>

namespace strata::data {
namespace {

TEST(DecodeUtf8, KeepsWellFormedTextOfEveryLength) {
  EXPECT_EQ(decode_utf8("a\u00e9\u4e2d\U0001F44B"), U"a\u00e9\u4e2d\U0001F44B");
}

TEST(DecodeUtf8, SkipsMalformedBytesAndContinuesAtTheNextCharacter) {
  EXPECT_EQ(decode_utf8("a\x80\xC0\xAF"
                        "b"),
            U"ab");
  EXPECT_EQ(decode_utf8("\xED\xA0\x80"
                        "a"),
            U"a");
  EXPECT_EQ(decode_utf8("\xF0\x9F\x91"
                        "a\xE4\xB8"),
            U"a");
}

TEST(DecodeUtf8, RoundTripsThroughAppend) {
  for (const char32_t code_point :
       {U'\u007f', U'\u0080', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string bytes;
    append_utf8(code_point, bytes);
    EXPECT_EQ(decode_utf8(bytes), std::u32string(1, code_point));
  }
}

TEST(LowerCase, ASigmaIsFinalOnlyAtTheEndOfALetterRun) {
  EXPECT_EQ(lower_case(U"\u0391\u03A3"), U"\u03B1\u03C2");
  EXPECT_EQ(lower_case(U"\u0391\u03A3\u0391"), U"\u03B1\u03C3\u03B1");
  EXPECT_EQ(lower_case(U"\u03A3"), U"\u03C3");
  EXPECT_EQ(lower_case(U"\u0391\u03A3'"), U"\u03B1\u03C2'");
}

TEST(StripAccents, DropsNonspacingMarksAndNothingElse) {
  EXPECT_EQ(strip_accents(U"\u00e9\u0301e"), U"ee");
  EXPECT_EQ(strip_accents(U"\u00df\u0131"), U"\u00df\u0131");
}

TEST(Classes, FollowTheBasicTokenizer) {
  EXPECT_TRUE(is_punctuation(U'$'));  // ASCII symbols count, others do not
  EXPECT_FALSE(is_punctuation(U'\u20ac'));
  EXPECT_TRUE(is_punctuation(U'\u2014'));
  EXPECT_TRUE(is_dropped(U'\u200b'));
  EXPECT_FALSE(is_dropped(U'\ue000'));  // private use is kept, hence an unknown word
  EXPECT_FALSE(is_dropped(U'\t'));
  EXPECT_TRUE(is_space(U'\u2028'));
  EXPECT_TRUE(is_cjk(U'\u4e2d'));
  EXPECT_FALSE(is_cjk(U'\u3042'));
}

}  // namespace
}  // namespace strata::data
