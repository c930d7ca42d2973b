#include "config/config_value.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/error_of.h"

namespace strata::config {
namespace {

using testing_support::error_of;

ConfigValue value_of(const std::string& yaml) {
  return {YAML::Load(yaml), "section.key", "run.yaml:7", "/base"};
}

TEST(ConfigValue, NumbersAreReadWhole) {
  EXPECT_EQ(value_of("-12").integer(""), -12);
  EXPECT_EQ(value_of("1e-3").number(""), 1e-3);
  EXPECT_EQ(value_of("4").number(""), 4.0);
  for (const char* bad :
       {"12x", "1.5", "1e3", "", "~", "'12'", "[1]", "{a: 1}", "0x10", "99999999999999999999"}) {
    EXPECT_THROW(value_of(bad).integer("an integer"), Error) << bad;
  }
  for (const char* bad : {"1,5", "nan", ".inf", "inf", "1e999", "\"1\"", "one"}) {
    EXPECT_THROW(value_of(bad).number("a number"), Error) << bad;
  }
}

TEST(ConfigValue, AnErrorNamesSourceKeyValueAndReason) {
  EXPECT_EQ(error_of([] { value_of("twelve").integer("an integer"); }),
            "run.yaml:7: section.key: 'twelve' is not an integer");
  EXPECT_EQ(error_of([] { value_of("\"12\"").integer("an integer"); }),
            "run.yaml:7: section.key: \"12\" is not an integer");
  EXPECT_EQ(error_of([] { value_of("[1, 2]").text("text"); }),
            "run.yaml:7: section.key: [1, 2] is not text");
  EXPECT_EQ(error_of([] { value_of("[1, 2, 3, 4, 5, 6, 7, 8, 9]").text("text"); }),
            "run.yaml:7: section.key: a list is not text");
  EXPECT_EQ(error_of([] { value_of("[1, [2]]").text("text"); }),
            "run.yaml:7: section.key: a list is not text");
  EXPECT_EQ(error_of([] { value_of("").text("text"); }),
            "run.yaml:7: section.key: nothing is not text");
}

TEST(ConfigValue, OnlyTrueAndFalseAreFlags) {
  EXPECT_TRUE(value_of("true").flag(""));
  EXPECT_FALSE(value_of("false").flag(""));
  for (const char* bad : {"yes", "1", "'true'", "True"}) {
    EXPECT_THROW(value_of(bad).flag(""), Error) << bad;
  }
}

TEST(ConfigValue, PathsAreRelativeToTheBase) {
  EXPECT_EQ(value_of("a/b").path(""), "/base/a/b");
  EXPECT_EQ(value_of("../a").path(""), "/a");
  EXPECT_EQ(value_of("/abs").path(""), "/abs");
  EXPECT_THROW(value_of("''").path(""), Error);
}

TEST(ConfigValue, AScalarIsAListOfOneAndAnEmptyListIsRefused) {
  EXPECT_EQ(value_of("a").list("").size(), 1u);
  EXPECT_EQ(value_of("[a, b]").list("").size(), 2u);
  EXPECT_THROW(value_of("[]").list("a list"), Error);
}

TEST(ConfigValue, AQuotedWordIsAText) {
  EXPECT_TRUE(value_of("auto").is_word("auto"));
  EXPECT_FALSE(value_of("'auto'").is_word("auto"));
}

TEST(ConfigValue, TextsSurviveWritingAndReading) {
  for (const std::string text : {"", "plain", "a: b", "\"quoted\" \\ # x", "tab\tline\nend", "~",
                                 "\x01\x7f", "H\xc3\xa4user", "[1]", "- a"}) {
    EXPECT_EQ(YAML::Load(yaml_text(text)).Scalar(), text);
  }
}

TEST(ConfigValue, NumbersSurviveWritingAndReading) {
  for (const double number : {1e-9, 0.1, 3.9299e-4, 1.0 / 3, 5e300, 0.0, 25.0}) {
    EXPECT_EQ(value_of(shortest(number)).number(""), number);
  }
}

}  // namespace
}  // namespace strata::config
