#include "data/loading/shared_samples.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class SharedSamplesTest : public testing::Test {
 protected:
  std::unique_ptr<InstanceSource> source_of(const char* name, const Instances& instances,
                                            InstanceForm form = InstanceForm::kPacked) {
    write_instances(directory_ / name, instances, sample_info(form));
    return open_instances(directory_ / name, {.variable_length = true});
  }

  TemporaryDirectory directory_;
};

TEST_F(SharedSamplesTest, DifferentSamplesAreNotShared) {
  const auto train = source_of("train.hdf5", sample_instances(3000));
  const auto other = source_of("eval.hdf5", sample_instances(200, 1));
  const SharedSamples found = find_shared_samples(*train, *other, other->size());
  EXPECT_EQ(found.shared, 0u);
  EXPECT_EQ(found.compared, 3000u);
}

TEST_F(SharedSamplesTest, SamplesAreFoundAtAnyPositionAndInAnyForm) {
  Instances mixed = sample_instances(100, 1);
  mixed.append(sample_instances(3000), 2500);
  mixed.append(sample_instances(3000), 7);
  const auto train = source_of("train.hdf5", sample_instances(3000));
  const auto eval = source_of("eval.hdf5", mixed, InstanceForm::kMlperfVariable);
  const SharedSamples found = find_shared_samples(*train, *eval, eval->size());
  EXPECT_EQ(found.shared, 2u);
  EXPECT_EQ(found.train, 7u);
  EXPECT_EQ(found.evaluation, 101u);
  EXPECT_EQ(find_shared_samples(*train, *eval, 100).shared, 0u) << "no others are evaluated";
}

TEST_F(SharedSamplesTest, TheSameTextWithOtherMasksIsAnotherSample) {
  Instances masked = sample_instances(50);
  for (int32_t& id : masked.masked_ids) id ^= 1;
  const auto train = source_of("train.hdf5", sample_instances(50));
  const auto eval = source_of("eval.hdf5", masked);
  EXPECT_EQ(find_shared_samples(*train, *eval, 50).shared, 0u);
}

TEST_F(SharedSamplesTest, OnlyAPartOfALargeSetIsRead) {
  const auto train = source_of("train.hdf5", sample_instances(3000));
  const SharedSamples found = find_shared_samples(*train, *train, 3000, 1000);
  EXPECT_EQ(found.compared, 1000u);
  EXPECT_GE(found.shared, 1000u);
  EXPECT_EQ(find_shared_samples(*train, *train, 3000, 2999).compared, 1500u);
}

}  // namespace
}  // namespace strata::data
