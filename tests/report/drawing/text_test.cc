#include "report/drawing/text.h"

#include <gtest/gtest.h>

namespace strata::report {
namespace {

TEST(Escape, MarkupIsText) {
  EXPECT_EQ(escape("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
}

TEST(Escape, KeepsTextOfEveryScript) { EXPECT_EQ(escape("Zürich 東京 😀"), "Zürich 東京 😀"); }

TEST(Escape, ReplacesWhatIsNoUtf8) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("a\xFF"
                   "b"),
            "a" + replaced + "b");
  EXPECT_EQ(escape("\xC0\x80"), replaced + replaced) << "an overlong zero";
  EXPECT_EQ(escape("\xED\xA0\x80"), replaced) << "half of a surrogate pair";
  EXPECT_EQ(escape("\xE6\x9D"), replaced) << "cut short";
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), replaced) << "beyond Unicode";
}

TEST(Escape, ReplacesWhatTurnsTextAround) {
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

TEST(ShortNumber, HasFourDigits) {
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
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv({"x", {"name", "value"}, {{"a,\"b\"", "-1.5"}}}),
            "name,value\n\"a,\"\"b\"\"\",-1.5\n");
}

TEST(Csv, AFormulaIsText) {
  EXPECT_EQ(csv({"x", {"name"}, {{"=HYPERLINK(1)"}, {"@a"}, {"+1"}, {"-1e5"}, {"-x"}}}),
            "name\n'=HYPERLINK(1)\n'@a\n'+1\n-1e5\n'-x\n");
}

// The decoder is an independent one: percent signs and two digits.
TEST(DataLink, HoldsTheWholeData) {
  const Data data{"a<b", {"système"}, {{"50 % \"of\" <it>&more#here"}, {"next"}}};
  const std::string link = data_link(data);
  const std::string begin = "href=\"data:text/csv;charset=utf-8,";
  const size_t at = link.find(begin);
  ASSERT_NE(at, link.npos);
  std::string decoded;
  for (size_t i = at + begin.size(); link[i] != '"'; ++i) {
    ASSERT_EQ(std::string("<>&#' ").find(link[i]), std::string::npos) << link[i];
    if (link[i] == '%') {
      decoded += static_cast<char>(std::stoi(link.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      decoded += link[i];
    }
  }
  EXPECT_EQ(decoded, csv(data));
  EXPECT_NE(link.find("download=\"a&lt;b.csv\""), link.npos);
}

// RFC 4648, section 10.
TEST(Base64, HasTheStandardsExamples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE"), "//4=");
}

}  // namespace
}  // namespace strata::report
