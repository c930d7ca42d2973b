#include "data/files/compare.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class Compare : public testing::Test {
 protected:
  // What first_difference says of 3000 samples and the same after `change`.
  template <typename Change>
  std::string after(const Change& change) {
    const Instances instances = sample_instances(3000);
    Instances changed = instances;
    change(changed);
    write_instances(directory_ / "a.hdf5", instances, sample_info(InstanceForm::kPacked));
    write_instances(directory_ / "b.hdf5", changed, sample_info(InstanceForm::kMlperfFixed));
    return first_difference(*open_instances(directory_ / "a.hdf5"),
                            *open_instances(directory_ / "b.hdf5"))
        .value_or("none");
  }

  TemporaryDirectory directory_;
};

TEST_F(Compare, TheFormDoesNotMatter) {
  EXPECT_EQ(after([](Instances&) {}), "none");
  EXPECT_EQ(after([](Instances& samples) { samples.documents.clear(); }), "none");
}

TEST_F(Compare, TheFirstDifferenceIsNamed) {
  const size_t token = sample_instances(3000).token_offsets[2500] + 3;
  EXPECT_EQ(after([&](Instances& samples) { samples.tokens[token] = 999; }),
            fmt::format("sample 2500: tokens differ at 3: {} and 999",
                        sample_instances(3000).tokens[token]));
  EXPECT_TRUE(contains(after([](Instances& samples) { ++samples.first_lengths[7]; }),
                       "sample 7: segments differ at "));
  EXPECT_TRUE(contains(after([](Instances& samples) { ++samples.masked_positions[0]; }),
                       "sample 0: masked positions differ at 0: "));
  EXPECT_TRUE(contains(after([](Instances& samples) { samples.masked_ids.back() ^= 1; }),
                       "sample 2999: masked tokens differ at "));
  EXPECT_EQ(after([](Instances& samples) { samples.next_sentence[1] ^= 1; }),
            "sample 1: next-sentence labels differ at 0: 1 and 0");
}

TEST_F(Compare, LengthsAreCompared) {
  EXPECT_TRUE(contains(after([](Instances& samples) {
                         samples = sample_instances(2999);
                         samples.append(sample_instances(4), 3);
                       }),
                       "sample 2999: "));
  EXPECT_EQ(after([](Instances& samples) { samples = sample_instances(2000); }),
            "the first 2000 samples are the same, but there are 3000 and 2000");
}

}  // namespace
}  // namespace strata::data
