#include "search/space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace strata::search {
namespace {

constexpr int kTrials = 2000;

std::vector<Dimension> space() {
  return {{.key = "optimizer.name", .choices = {"adam", "lamb"}},
          {.key = "optimizer.lr",
           .distribution = Distribution::kLogUniform,
           .low = 1e-4,
           .high = 1e-2,
           .when = {{"optimizer.name", "adam"}}},
          {.key = "optimizer.lr",
           .distribution = Distribution::kLogUniform,
           .low = 1e-3,
           .high = 1e-1,
           .when = {{"optimizer.name", "lamb"}}},
          {.key = "optimizer.beta2",
           .distribution = Distribution::kOneMinusLogUniform,
           .low = 0.001,
           .high = 0.1},
          {.key = "clip.max_norm", .distribution = Distribution::kUniform, .low = -2, .high = 6},
          {.key = "lr_schedule.warmup_steps",
           .distribution = Distribution::kInteger,
           .low = 3,
           .high = 6}};
}

std::string value_of(const Settings& settings, const std::string& key) {
  std::string value;
  for (const Setting& setting : settings) {
    if (setting.key != key) continue;
    EXPECT_EQ(value, "") << key << " was drawn twice";
    value = setting.value;
  }
  return value;
}

TEST(Space, ATrialIsTheSameWheneverItIsDrawn) {
  const auto all = space();
  EXPECT_EQ(draw(all, 7, 3), draw(all, 7, 3));
  EXPECT_NE(draw(all, 7, 3), draw(all, 7, 4));
  EXPECT_NE(draw(all, 7, 3), draw(all, 8, 3));
}

TEST(Space, VerySmallNumbersStayInTheirRange) {
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kLogUniform}) {
    const Dimension small{
        .key = "optimizer.lr", .distribution = distribution, .low = 1e-320, .high = 1e-310};
    for (int trial = 0; trial < 20; ++trial) {
      const double drawn = std::strtod(draw({&small, 1}, 1, trial)[0].value.c_str(), nullptr);
      EXPECT_GE(drawn, small.low);
      EXPECT_LE(drawn, small.high);
    }
  }
}

TEST(Space, AnotherKeyDoesNotChangeTheOthers) {
  auto more = space();
  more.insert(more.begin(), {.key = "clip.mode", .choices = {"none", "after_allreduce"}});
  for (int trial = 0; trial < 20; ++trial) {
    Settings settings = draw(more, 1, trial);
    settings.erase(settings.begin());
    EXPECT_EQ(settings, draw(space(), 1, trial));
  }
}

TEST(Space, ADimensionIsDrawnOnlyWhereItsConditionHolds) {
  for (int trial = 0; trial < 200; ++trial) {
    const Settings settings = draw(space(), 1, trial);
    const double lr = std::stod(value_of(settings, "optimizer.lr"));
    if (value_of(settings, "optimizer.name") == "adam") {
      EXPECT_LE(lr, 1e-2);
    } else {
      EXPECT_GE(lr, 1e-3);
    }
  }
}

// Half of the trials must be below the median of a distribution, within five standard deviations.
TEST(Space, ValuesAreSpreadAsTheirDistributionSays) {
  std::map<std::string, int> below;
  std::set<int> warmups;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Settings settings = draw(space(), 11, trial);
    const bool adam = value_of(settings, "optimizer.name") == "adam";
    below["name"] += adam;
    below["lr"] += std::stod(value_of(settings, "optimizer.lr")) < (adam ? 1e-3 : 1e-2);
    const double beta2 = std::stod(value_of(settings, "optimizer.beta2"));
    EXPECT_GE(beta2, 0.9);
    EXPECT_LE(beta2, 0.999);
    below["beta2"] += beta2 < 0.99;
    const double norm = std::stod(value_of(settings, "clip.max_norm"));
    EXPECT_GE(norm, -2);
    EXPECT_LE(norm, 6);
    below["norm"] += norm < 2;
    const int warmup = std::stoi(value_of(settings, "lr_schedule.warmup_steps"));
    warmups.insert(warmup);
    below["warmup"] += warmup < 5;
  }
  const double deviation = 5 * std::sqrt(0.25 * kTrials);
  for (const auto& [what, count] : below) EXPECT_NEAR(count, kTrials / 2, deviation) << what;
  EXPECT_EQ(warmups, (std::set<int>{3, 4, 5, 6}));
}

TEST(Space, NumbersOfNarrowRangesStayInsideAndApart) {
  const std::vector<Dimension> narrow = {
      {.key = "a", .distribution = Distribution::kUniform, .low = 0.99995, .high = 0.99999},
      {.key = "b", .distribution = Distribution::kUniform, .low = 1000000, .high = 1000100}};
  std::set<std::string> values;
  for (int trial = 0; trial < 50; ++trial) {
    const Settings settings = draw(narrow, 5, trial);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_GE(std::stod(settings[i].value), narrow[i].low);
      EXPECT_LE(std::stod(settings[i].value), narrow[i].high);
      values.insert(settings[i].value);
    }
  }
  EXPECT_GT(values.size(), 90u);
}

TEST(Space, NumbersAreShort) {
  for (int trial = 0; trial < 50; ++trial) {
    for (const Setting& setting : draw(space(), 5, trial)) EXPECT_LE(setting.value.size(), 9u);
  }
}

}  // namespace
}  // namespace strata::search
