#include "data/files/compare.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class Compare : public testing::Test {
 protected:
  // Returns first_difference() between 3000 samples and the same after `change`.
  template <typename Change>
  std::string after(const Change& change) {
    Instances changed = sample_instances(3000);
    change(changed);
    write(sample_instances(3000), changed);
    return first_difference(*open_instances(directory_ / "a.hdf5"),
                            *open_instances(directory_ / "b.hdf5"))
        .value_or("none");
  }

  void write(const Instances& a, const Instances& b) {
    write_instances(directory_ / "a.hdf5", a, sample_info(InstanceForm::kPacked));
    write_instances(directory_ / "b.hdf5", b, sample_info(InstanceForm::kMlperfFixed));
  }
  std::string content(const Instances& a, const Instances& b) {
    write(a, b);
    const auto from_a = open_instances(directory_ / "a.hdf5");
    return to_text(compare_content(*from_a, *open_instances(directory_ / "b.hdf5")), *from_a);
  }

  TemporaryDirectory directory_;
};

// Returns samples of `all` by their numbers.
Instances pick(const Instances& all, const std::vector<size_t>& samples) {
  Instances out;
  for (const size_t sample : samples) out.append(all, sample);
  return out;
}

TEST_F(Compare, OrderIsDistinguishedFromContent) {
  const Instances all = sample_instances(6);
  EXPECT_EQ(content(all, pick(all, {3, 1, 5, 0, 2, 4})), "the same 6 samples in another order");
  EXPECT_EQ(content(all, pick(all, {5, 3, 1})),
            "only in the first: 3, beginning with sample 0; only in the second: none; in both: 3");
  EXPECT_EQ(content(pick(all, {0, 1, 2}), pick(all, {5, 1, 0})),
            "only in the first: 1, beginning with sample 2; only in the second: 1, beginning with "
            "sample 0; in both: 2");
  // Every copy of a sample counts.
  EXPECT_EQ(content(pick(all, {0, 1, 1}), pick(all, {1, 0, 0})),
            "only in the first: 1, beginning with sample 2; only in the second: 1, beginning with "
            "sample 2; in both: 2");
}

TEST_F(Compare, EveryPartOfASampleCounts) {
  const Instances all = sample_instances(2);
  std::vector<Instances> changed(4, all);
  ++changed[0].tokens[1];
  ++changed[1].first_lengths[1];
  ++changed[2].masked_ids[0];
  changed[3].next_sentence[1] ^= 1;
  for (const Instances& other : changed) {
    EXPECT_TRUE(contains(content(all, other), "only in the first: 1, "));
  }
}

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
            "one has 3,000 samples and the other 2,000; the first 2,000 are the same");
}

}  // namespace
}  // namespace strata::data
