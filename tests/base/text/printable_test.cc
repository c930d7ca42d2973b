#include "base/text/printable.h"

#include <gtest/gtest.h>

#include "base/text/characters.h"

namespace strata {
namespace {

struct Case {
  const char* what;
  std::string text, lines, line;
};

TEST(Printable, TextCannotSteerATerminal) {
  const Case cases[] = {{"plain", "Acme 8x A100", "Acme 8x A100", "Acme 8x A100"},
                        {"two lines and a tab", "a\n\tb", "a\n\tb", "a\\x0a\\x09b"},
                        {"other scripts", "Z\xc3\xbcrich \xe6\x9d\xb1",
                         "Z\xc3\xbcrich \xe6\x9d\xb1", "Z\xc3\xbcrich \xe6\x9d\xb1"},
                        {"escape", "\x1b[2J", "\\x1b[2J", "\\x1b[2J"},
                        {"carriage return", "a\rb", "a\\x0db", "a\\x0db"},
                        {"delete", "\x7f", "\\x7f", "\\x7f"},
                        {"eight-bit control",
                         "\xc2\x9b"
                         "2J",
                         "\\u009b2J", "\\u009b2J"},
                        {"right to left",
                         "\xe2\x80\xae"
                         "abc",
                         "\\u202eabc", "\\u202eabc"},
                        {"isolate", "\xe2\x81\xa6", "\\u2066", "\\u2066"},
                        {"line separator", "\xe2\x80\xa8", "\\u2028", "\\u2028"},
                        {"tag", "\xf3\xa0\x80\x81", "\\U000e0001", "\\U000e0001"},
                        {"no UTF-8", "a\xff\xc3", "a\\xff\\xc3", "a\\xff\\xc3"},
                        {"half a character", "\xe6\x9d", "\\xe6\\x9d", "\\xe6\\x9d"},
                        {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80"},
                        {"zero", std::string("\0", 1), "\\x00", "\\x00"},
                        {"command of a CI service", "a\n ::error::b\n##[error]c",
                         "a\n|  ::error::b\n| ##[error]c", "a\\x0a ::error::b\\x0a##[error]c"},
                        {"empty", "", "", ""}};
  for (const Case& one : cases) {
    EXPECT_EQ(printable_lines(one.text), one.lines) << one.what;
    EXPECT_EQ(one_line(one.text), one.line) << one.what;
  }
}

TEST(Printable, ANameInAnErrorCannotForgeALine) {
  EXPECT_EQ(printable_error("a\npassed x\nstrata: b\n  indented\n\n::error::c\x1b"),
            "a\n| passed x\nstrata: b\n  indented\n\n| ::error::c\\x1b");
  EXPECT_EQ(printable_error(""), "");
  EXPECT_EQ(printable_error("one\n"), "one\n");
}

TEST(Printable, ALineIsCutBetweenCharacters) {
  const std::string text =
      "ab\xc3\xbc"
      "cd";
  EXPECT_EQ(one_line(text, 6), text);
  EXPECT_EQ(one_line(text, 4), "ab\xc3\xbc...");
  EXPECT_EQ(one_line(text, 3), "ab...");
  EXPECT_EQ(one_line(std::string(5000, 'a')).size(), 4099u);
}

TEST(Printable, EveryByteIsShownAsPrintableUtf8) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string shown = one_line(std::string("a") + static_cast<char>(byte) + 'b');
    EXPECT_TRUE(is_utf8(shown)) << byte;
    EXPECT_TRUE(shown.starts_with('a') && shown.ends_with('b')) << byte;
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << byte;
  }
}

}  // namespace
}  // namespace strata
