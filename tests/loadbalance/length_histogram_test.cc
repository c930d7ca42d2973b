#include "loadbalance/length_histogram.h"

#include <string>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::loadbalance {
namespace {

class LengthHistogram : public testing_support::TemporaryDirectory {
 protected:
  std::vector<LengthCount> parse(const std::string& text) const {
    write_file_atomically(directory_ / "lengths.txt", text);
    return read_length_histogram(directory_ / "lengths.txt");
  }
};

TEST_F(LengthHistogram, ReadsLinesAndComments) {
  const auto histogram = parse("# shares\n\n512 3  # full\n128 1\n");
  ASSERT_EQ(histogram.size(), 2u);
  EXPECT_EQ(histogram[0].length, 128);
  EXPECT_EQ(histogram[0].weight, 1);
  EXPECT_EQ(histogram[1].length, 512);
  const auto eight = in_proportion(histogram, 8);
  ASSERT_EQ(eight.size(), 2u);
  EXPECT_EQ(eight[0].weight, 2) << "of 128 tokens";
  EXPECT_EQ(eight[1].weight, 6) << "of 512";
}

TEST_F(LengthHistogram, MlperfsWikipediaHasTheSharesOfItsStrata) {
  std::vector<int> counts(4);
  for (const LengthCount& entry : in_proportion(mlperf_wikipedia_histogram(), 16000)) {
    counts.at(static_cast<size_t>((entry.length - 1) / 128)) += static_cast<int>(entry.weight);
  }
  for (size_t stratum = 0; stratum < 4; ++stratum) {
    EXPECT_NEAR(counts[stratum], (std::vector{6000, 3000, 2000, 5000})[stratum], 1);
  }
}

TEST_F(LengthHistogram, ProportionsGiveAnyNumberOfSamples) {
  const auto histogram = parse("1 1\n2 1\n3 1\n");
  for (size_t samples = 0; samples < 50; ++samples) {
    int64_t reached = 0;
    for (const LengthCount& entry : in_proportion(histogram, samples)) reached += entry.weight;
    EXPECT_EQ(reached, static_cast<int64_t>(samples));
  }
}

TEST_F(LengthHistogram, CountsLengths) {
  const auto histogram = histogram_of(std::vector<uint16_t>{7, 512, 7, 65535});
  ASSERT_EQ(histogram.size(), 3u);
  EXPECT_EQ(histogram[0].length, 7);
  EXPECT_EQ(histogram[0].weight, 2);
  EXPECT_EQ(histogram[2].length, 65535);
  EXPECT_EQ(histogram[2].weight, 1);
}

TEST_F(LengthHistogram, WrongLinesAreNamed) {
  for (const std::string line : {"512", "0 3", "70000 1", "5 -1", "5 1 2", "many 1"}) {
    try {
      parse("7 1\n" + line + "\n");
      FAIL() << "no error for " << line;
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("lengths.txt:2: \"" + line)) << error.what();
    }
  }
  EXPECT_THROW(parse("# nothing\n"), Error);
}

// Shares 6 : 3 : 2 : 5, about a third at full length, and a mean near 253.
TEST_F(LengthHistogram, TheShippedLengthsHaveMlperfWikipediasShares) {
  const auto histogram = in_proportion(
      read_length_histogram(STRATA_SOURCE_DIR "/bench/lengths/mlperf_wikipedia.txt"), 160000);
  std::vector<int> strata(4);
  double tokens = 0, full = 0;
  for (const auto& [length, count] : histogram) {
    strata[static_cast<size_t>((length - 1) / 128)] += static_cast<int>(count);
    tokens += static_cast<double>(length * count);
    full += length == 512 ? static_cast<double>(count) : 0;
  }
  EXPECT_NEAR(strata[0], 60000, 100);
  EXPECT_NEAR(strata[1], 30000, 100);
  EXPECT_NEAR(strata[2], 20000, 100);
  EXPECT_NEAR(strata[3], 50000, 100);
  EXPECT_NEAR(tokens / 160000, 253, 8);
  EXPECT_NEAR(full / 160000, 1.0 / 3, 0.04);
}

}  // namespace
}  // namespace strata::loadbalance
