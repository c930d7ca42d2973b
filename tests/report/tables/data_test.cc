#include "report/tables/data.h"

#include "tests/support/matchers.h"

namespace strata::report {
namespace {

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv({"x", {"name", "value"}, {{"a,\"b\"", "-1.5"}}}),
            "name,value\n\"a,\"\"b\"\"\",-1.5\n");
}

TEST(Csv, QuotesFormulas) {
  EXPECT_EQ(csv({"x", {"name"}, {{"=HYPERLINK(1)"}, {"@a"}, {"+1"}, {"-1e5"}, {"-x"}}}),
            "name\n'=HYPERLINK(1)\n'@a\n'+1\n-1e5\n'-x\n");
}

// The decoder is independent: percent signs and two digits.
TEST(DataLink, HoldsTheWholeData) {
  const Data data{"a<b", {"système"}, {{"50 % \"of\" <it>&more#here"}, {"next"}}};
  const std::string link = data_link(data);
  const std::string begin = "href=\"data:text/csv;charset=utf-8,";
  const size_t at = link.find(begin);
  ASSERT_NE(at, link.npos);
  std::string decoded;
  for (size_t i = at + begin.size(); link[i] != '"'; ++i) {
    ASSERT_THAT("<>&#' ", Not(HasSubstr(std::string(1, link[i]))));
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
