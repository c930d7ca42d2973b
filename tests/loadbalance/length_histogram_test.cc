#include "loadbalance/length_histogram.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace strata::loadbalance {
namespace {

std::vector<LengthCount> parse(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "lengths.txt";
  write_file_atomically(path, text);
  return read_length_histogram(path);
}

TEST(LengthHistogram, ReadsLinesAndComments) {
  const auto histogram = parse("# shares\n\n512 3  # full\n128 1\n");
  ASSERT_EQ(histogram.size(), 2u);
  EXPECT_EQ(histogram[0].length, 128);
  EXPECT_EQ(histogram[0].weight, 1);
  EXPECT_EQ(histogram[1].length, 512);
  EXPECT_EQ(lengths_in_proportion(histogram, 8),
            (std::vector<int32_t>{128, 128, 512, 512, 512, 512, 512, 512}));
}

TEST(LengthHistogram, MlperfsWikipediaHasTheSharesOfItsStrata) {
  std::vector<int> counts(4);
  for (const int32_t length : lengths_in_proportion(mlperf_wikipedia_histogram(), 16000)) {
    ++counts.at(static_cast<size_t>((length - 1) / 128));
  }
  for (size_t stratum = 0; stratum < 4; ++stratum) {
    EXPECT_NEAR(counts[stratum], (std::vector{6000, 3000, 2000, 5000})[stratum], 1);
  }
}

TEST(LengthHistogram, EveryNumberOfSamplesIsReached) {
  const auto histogram = parse("1 1\n2 1\n3 1\n");
  for (size_t samples = 0; samples < 50; ++samples) {
    EXPECT_EQ(lengths_in_proportion(histogram, samples).size(), samples);
  }
}

TEST(LengthHistogram, WrongLinesAreNamed) {
  for (const std::string line : {"512", "0 3", "70000 1", "5 -1", "5 1 2", "many 1"}) {
    try {
      parse("7 1\n" + line + "\n");
      FAIL() << "no error for " << line;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("lengths.txt:2: \"" + line), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(parse("# nothing\n"), Error);
}

// 6 : 3 : 2 : 5, about a third full, a mean near 253.
TEST(LengthHistogram, TheShippedLengthsHaveMlperfWikipediasShares) {
  const auto lengths = lengths_in_proportion(
      read_length_histogram(STRATA_SOURCE_DIR "/bench/lengths/mlperf_wikipedia.txt"), 160000);
  std::vector<int> strata(4);
  double tokens = 0, full = 0;
  for (const int32_t length : lengths) {
    ++strata[(length - 1) / 128];
    tokens += length;
    full += length == 512;
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
