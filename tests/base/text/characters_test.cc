#include "base/text/characters.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(Characters, InvalidBytesBecomeReplacementCharacters) {
  EXPECT_EQ(valid_utf8(""), "");
  EXPECT_EQ(valid_utf8("Z\u00fcrich \U0001F600\n"), "Z\u00fcrich \U0001F600\n");
  EXPECT_EQ(valid_utf8("caf\xe9!"), "caf\uFFFD!");
  EXPECT_EQ(valid_utf8("\xff\xfe"), "\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("a\xed\xa0\x80z"), "a\uFFFD\uFFFD\uFFFDz") << "an encoded surrogate";
  EXPECT_EQ(valid_utf8("\xe2\x82z"), "\uFFFDz") << "a character that is cut off";
  EXPECT_TRUE(is_utf8(valid_utf8("\xf0\x9f\x98")));
}

}  // namespace
}  // namespace strata
