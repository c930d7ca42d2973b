#include "mllog/log_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace strata::mllog {
namespace {

TEST(LogValue, IsWrittenAsJsonOnOneLineOfAscii) {
  EXPECT_EQ(to_json({}), "null");
  EXPECT_EQ(to_json(false), "false");
  EXPECT_EQ(to_json(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(to_json("a\n\"b\" caf\xC3\xA9"), R"("a\n\"b\" caf\u00e9")");
  EXPECT_EQ(to_json(std::nan("")), "null");
  EXPECT_EQ(to_json(Json{"[1,\r\n {\"\xC3\xA9\": \"\xFF\"}]"}),
            "[1,   {\"\\u00e9\": \"\\ufffd\"}]");
}

TEST(LogValue, InvalidJsonIsRefused) {
  for (const char* text : {"", "{", "[1] 2", "\"a\nb\"", "nul", "{1: 2}"}) {
    EXPECT_THROW(to_json(Json{text}), Error) << text;
    EXPECT_THROW(parse_value(text), Error) << text;
  }
}

TEST(LogValue, WrittenValuesAreReadBack) {
  const EventValue values[] = {std::monostate(),
                               true,
                               int64_t{-5},
                               std::numeric_limits<uint64_t>::max(),
                               0.1,
                               1e300,
                               std::string("caf\xC3\xA9 \"\n\xF0\x9F\x98\x80"),
                               Json{R"([1, {"a": null}])"}};
  for (const EventValue& value : values) EXPECT_EQ(parse_value(to_json(value)), value);
}

TEST(LogValue, NumbersTakeTheTypeThatHoldsThem) {
  EXPECT_EQ(parse_value(" 7 "), EventValue(int64_t{7}));
  EXPECT_EQ(parse_value("7.0"), EventValue(7.0));
  EXPECT_EQ(parse_value("9223372036854775808"), EventValue(uint64_t{1} << 63));
  EXPECT_EQ(parse_value("100000000000000000000"), EventValue(1e20));
  EXPECT_EQ(parse_value("-Infinity"), EventValue(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(std::get<double>(parse_value("NaN"))));
}

TEST(LogValue, TheLastFieldWithADecodedNameIsFound) {
  const char* object = R"({ "a": 1, "\u0062": [2, {"a": 3}] , "a" : "4"})";
  EXPECT_EQ(find_field(object, "a"), R"("4")");
  EXPECT_EQ(find_field(object, "b"), R"([2, {"a": 3}])");
  EXPECT_EQ(find_field(object, "c"), std::nullopt);
  EXPECT_EQ(find_field("{}", "a"), std::nullopt);
  EXPECT_EQ(find_field("[1]", "a"), std::nullopt);
  EXPECT_EQ(find_field("", "a"), std::nullopt);
  EXPECT_EQ(find_field(R"({"a": 1)", "a"), std::nullopt);
}

}  // namespace
}  // namespace strata::mllog
