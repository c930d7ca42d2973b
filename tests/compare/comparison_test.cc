#include "compare/comparison.h"

#include <nlohmann/json.hpp>

#include "base/numbers/random.h"
#include "compare/comparison_report.h"
#include "tests/support/matchers.h"

namespace strata::compare {
namespace {

Comparison example() {
  Comparison comparison{.what = "bert", .base = "old", .other = "new", .judged_first = true};
  comparison.quantities.push_back(make_quantity("time to train", "min", Better::kLower,
                                                {.values = {10, 10.1, 9.9}},
                                                {.values = {12, 12.1, 11.9}}));
  comparison.quantities.push_back(make_quantity("rate_per_second", "", Better::kHigher,
                                                {.values = {4, 4, 4}}, {.values = {1, 1, 1}}));
  comparison.parts = {{"start", 1.5}, {"speed of steps", 118.5}};
  return comparison;
}

TEST(ComparisonTest, OnlyTheJudgedQuantitiesDecide) {
  Comparison comparison = example();
  ASSERT_EQ(comparison.worse_than(0.19).size(), 1u);
  EXPECT_EQ(comparison.worse_than(0.19).front()->name, "time to train");
  EXPECT_TRUE(comparison.worse_than(0.21).empty());
  comparison.judged_first = false;
  ASSERT_EQ(comparison.worse_than(0.21).size(), 1u);
  EXPECT_EQ(comparison.worse_than(0.21).front()->name, "rate_per_second");
  EXPECT_NEAR(*comparison.quantities[1].worse_by(), 0.75, 1e-12);
}

TEST(ComparisonTest, ADifferenceThatMayBeChanceDoesNotFail) {
  Comparison comparison{.what = "bert", .base = "old", .other = "new"};
  comparison.quantities.push_back(make_quantity(
      "seconds", "", Better::kLower, {.values = {1, 9, 2, 8}}, {.values = {2, 10, 1.5, 9}}));
  EXPECT_GT(*comparison.quantities.front().difference(), 0.1);
  EXPECT_TRUE(comparison.worse_than(0.03).empty());
}

// The sides have thirty equal numbers. By chance, some number differs in at most one of twenty
// gates.
TEST(ComparisonTest, EqualSidesPassNineteenOfTwentyGates) {
  SplitMix64 random(11);
  int failed = 0;
  constexpr int kGates = 400;
  for (int gate = 0; gate < kGates; ++gate) {
    Comparison comparison{.what = "measurements", .base = "a", .other = "b"};
    for (int number = 0; number < 30; ++number) {
      Sample a, b;
      for (int i = 0; i < 9; ++i) {
        a.values.push_back(1 + 0.1 * unit_interval(random.next()));
        b.values.push_back(1 + 0.1 * unit_interval(random.next()));
      }
      comparison.quantities.push_back(
          make_quantity("seconds", "", Better::kLower, std::move(a), std::move(b)));
    }
    failed += !comparison.worse_than(0.01).empty();
  }
  EXPECT_LE(failed, 0.05 * kGates);
  EXPECT_GE(failed, 1) << "chance would find nothing in 400 gates";
}

TEST(ComparisonTest, AnInfiniteDifferenceCountsAsMissing) {
  const Quantity quantity =
      make_quantity("seconds", "", Better::kLower, {.values = {1e-300}}, {.values = {1e50}});
  EXPECT_FALSE(quantity.difference());
  EXPECT_FALSE(quantity.worse_by());
}

TEST(ComparisonTest, WithoutAnIntervalTheDifferenceDecides) {
  Comparison comparison{.what = "bert", .base = "old", .other = "new"};
  comparison.quantities.push_back(
      make_quantity("seconds", "", Better::kLower, {.values = {1}}, {.values = {1.2}}));
  EXPECT_EQ(comparison.worse_than(0.1).size(), 1u);
}

TEST(ComparisonReport, TextExplainsTheChangeInScore) {
  const std::string text = comparison_text({example()});
  EXPECT_THAT(text, HasSubstr("+20.00 %"));
  EXPECT_THAT(text, HasSubstr("B's score is 20.00 % slower than A's"));
  EXPECT_THAT(text,
              HasSubstr("mean times differ by +120.00 s: start +1.50 s, speed of steps +118.50 s"));
}

TEST(ComparisonReport, NamesCannotBreakOutOfMarkdownCsvOrJson) {
  Comparison hostile = example();
  hostile.base = "a|b`<script>\n\"x\",\xff";
  const std::string markdown = comparison_markdown({hostile});
  EXPECT_THAT(markdown, HasSubstr("a\\|b\\`\\<script\\> \"x\""));
  const std::string csv = comparison_csv({hostile});
  EXPECT_THAT(csv, HasSubstr("bert,\"a|b`<script>\n\"\"x\"\",\uFFFD\",new,time to train,min,3,3,"));
  const auto json = nlohmann::json::parse(comparison_json({hostile}));
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["comparisons"][0]["a"], "a|b`<script>\n\"x\",\xef\xbf\xbd");
  EXPECT_NEAR(json["comparisons"][0]["quantities"][0]["difference"], 0.2, 1e-12);
}

}  // namespace
}  // namespace strata::compare
