#include "drawing/text.h"

#include <gtest/gtest.h>

namespace strata::drawing {
namespace {

TEST(Escape, EscapesMarkup) {
  EXPECT_EQ(escape("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
}

TEST(Escape, KeepsTextOfEveryScript) { EXPECT_EQ(escape("Zürich 東京 😀"), "Zürich 東京 😀"); }

TEST(Escape, ReplacesInvalidUtf8) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("a\xFF"
                   "b"),
            "a" + replaced + "b");
  EXPECT_EQ(escape("\xC0\x80"), replaced + replaced) << "an overlong zero";
  EXPECT_EQ(escape("\xED\xA0\x80"), replaced + replaced + replaced) << "half of a surrogate pair";
  EXPECT_EQ(escape("\xE6\x9D"), replaced) << "cut short";
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced)
      << "beyond Unicode";
}

TEST(Escape, ReplacesControlAndDirectionCharacters) {
  for (const char* control : {"\x1B", "\x7F", "\u202E", "\u2066", "\u200B", "\uFEFF", "\u0085"}) {
    EXPECT_EQ(escape(std::string("a") + control + "b"), "a\uFFFDb");
  }
  EXPECT_EQ(escape(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(escape("two\nlines\tand\rmore"), "two lines and more");
}

TEST(Escape, CutsByCharacters) {
  EXPECT_EQ(escape("東京都庁", 2), "東京...");
  EXPECT_EQ(escape("東京", 2), "東京");
  EXPECT_EQ(escape(std::string(5'000'000, '<')).size(), kLongestText * 4 + 3);
}

TEST(ShortNumber, HasFourDigitsOrTheRequestedNumber) {
  EXPECT_EQ(short_number(0.721234, 6), "0.721234");
  EXPECT_EQ(short_number(0.17954), "0.1795");
  EXPECT_EQ(short_number(9999), "9999");
  EXPECT_EQ(short_number(2'934'000), "2.934 M");
  EXPECT_EQ(short_number(-12'345), "-12.35 k");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(std::nullopt), "-");
}

TEST(Duration, ChoosesItsUnit) {
  EXPECT_EQ(duration(0.0042), "4.2 ms");
  EXPECT_EQ(duration(59.94), "59.9 s");
  EXPECT_EQ(duration(744), "12.4 min");
  EXPECT_EQ(duration(7560), "2.1 h");
  EXPECT_EQ(duration(3600 * 12345.0), "12,345 h");
}

TEST(Shortened, LosesTheMiddleBetweenCharacters) {
  EXPECT_EQ(shortened("short", 8), "short");
  EXPECT_EQ(shortened("exactly8", 8), "exactly8");
  EXPECT_EQ(shortened("a longer text", 10), "a lo...ext");
  EXPECT_EQ(shortened("äöüßäöüßä", 8), "äöü...ßä");
  EXPECT_EQ(shortened(std::string(100, '\xff'), 8), "\uFFFD\uFFFD\uFFFD...\uFFFD\uFFFD");
}

TEST(Shortened, NamesThatWouldBecomeEqualStayWhole) {
  EXPECT_EQ(shortened_apart({"a_long_one_b", "a_long_two_b", "another_name"}, 8),
            (std::vector<std::string>{"a_long_one_b", "a_long_two_b", "ano...me"}));
}

}  // namespace
}  // namespace strata::drawing
