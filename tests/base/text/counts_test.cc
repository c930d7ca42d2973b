#include "base/text/counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace strata {
namespace {

TEST(Counts, HaveAllTheirDigits) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {-0.0, "0"},
                                                  {1, "1"},
                                                  {999, "999"},
                                                  {1000, "1,000"},
                                                  {-1234567, "-1,234,567"},
                                                  {9371650, "9,371,650"},
                                                  {1234.4, "1,234"},
                                                  {0.7205, "0.7205"},
                                                  {12.5, "12.5"},
                                                  {156725653, "156,725,653"},
                                                  {1e15, "1,000,000,000,000,000"},
                                                  {1e16, "1e+16"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(count_text(number), text);
  EXPECT_EQ(count_text(NAN), "nan");
  EXPECT_EQ(count_text(INFINITY), "inf");
}

TEST(Counts, AreRoundedBelowAThousand) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},         {8.0432, "8.04"},    {23.456, "23.5"},
      {999.6, "1,000"}, {12345.6, "12,346"}, {-2.5, "-2.5"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(rounded_text(number), text);
  EXPECT_EQ(rounded_text(120.4, 2), "120");
}

TEST(Counts, ChooseTheFormOfTheNoun) {
  EXPECT_EQ(counted(0, "accelerator"), "0 accelerators");
  EXPECT_EQ(counted(1, "accelerator"), "1 accelerator");
  EXPECT_EQ(counted(1024, "batch"), "1,024 batches");
  EXPECT_EQ(counted(2, "box"), "2 boxes");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(2, "day"), "2 days");
  EXPECT_EQ(counted(2, "loss"), "2 losses");
  EXPECT_EQ(counted(3, "run that counts", "runs that count"), "3 runs that count");
  EXPECT_EQ(counted(1, "run that counts", "runs that count"), "1 run that counts");
  EXPECT_EQ(counted(1.5, "epoch"), "1.5 epochs");
  EXPECT_EQ(counted(1.0000001, "epoch"), "1 epoch");
  EXPECT_EQ(noun_of(1, "log"), "log");
  EXPECT_EQ(noun_of(5, "log"), "logs");
}

TEST(Counts, AListIsShortenedToItsFirstTextAndACount) {
  EXPECT_EQ(first_and_count({}, "reason"), "");
  EXPECT_EQ(first_and_count(std::vector<std::string>{"a"}, "reason"), "a");
  EXPECT_EQ(first_and_count(std::vector<std::string>{"a", "b"}, "reason"), "a (and 1 more reason)");
  EXPECT_EQ(first_and_count(std::vector<std::string>(1001, "a"), "reason"),
            "a (and 1,000 more reasons)");
}

}  // namespace
}  // namespace strata
