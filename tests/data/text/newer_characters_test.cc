#include "data/text/newer_characters.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

// U+0560 is a small letter since 11.0, U+1C90 a capital, U+16E97 punctuation. U+20BF is a symbol
// since 10.0, U+9FEB an ideograph; both form words even if unassigned.
TEST(NewerCharacters, CountsDifferingCharactersWithTheirFirstPosition) {
  NewerCharacters newer(kNewestUnicode);
  newer.add("caf\u00e9 \u4e2d\n\u1C90x\u20BF \u9FEB\n\U00016E97 \u1C90", "b.txt");
  ASSERT_EQ(newer.found().size(), 2u);
  EXPECT_EQ(newer.found().at(0x1C90).count, 2u);
  EXPECT_EQ(newer.found().at(0x1C90).offset, 10u);
  EXPECT_EQ(newer.found().at(0x16E97).count, 1u);
  NewerCharacters other(kNewestUnicode);
  other.add("a\u1C90", "a.txt");
  newer.add(other);
  EXPECT_EQ(newer.found().at(0x1C90).count, 3u);
  EXPECT_EQ(newer.found().at(0x1C90).file, "a.txt");
  EXPECT_EQ(newer.found().at(0x1C90).offset, 1u);
  const std::string text = newer.describe();
  EXPECT_TRUE(contains(text, "treat 2 characters of the text differently")) << text;
  EXPECT_TRUE(contains(text, "U+1C90, 3 times, first in a.txt at byte 1")) << text;
  EXPECT_TRUE(contains(text, "U+16E97, 1 time, first in b.txt at byte ")) << text;
}

TEST(NewerCharacters, NewLettersCountOnlyNextToASigma) {
  NewerCharacters newer(kNewestUnicode);
  newer.add("\u0560 \u10D0\n", "a.txt");
  EXPECT_TRUE(newer.found().empty());
  newer.add("\u0560\u03A3\n\u10D0", "a.txt");
  EXPECT_EQ(newer.found().size(), 1u);
  EXPECT_TRUE(newer.found().contains(0x0560));
}

TEST(NewerCharacters, FindsNothingInTheReferencesVersion) {
  NewerCharacters newer(kReferenceUnicode);
  newer.add("\u1C90\u03A3", "a.txt");
  EXPECT_TRUE(newer.found().empty());
  EXPECT_EQ(newer.describe(), "");
}

TEST(NewerCharacters, MalformedBytesArePassedOver) {
  NewerCharacters newer(kNewestUnicode);
  newer.add("\xF0\x96\xBA \xE1\xB2\u1C90\xFF", "a.txt");
  ASSERT_EQ(newer.found().size(), 1u);
  EXPECT_EQ(newer.found().begin()->second.offset, 6u);
}

}  // namespace
}  // namespace strata::data
