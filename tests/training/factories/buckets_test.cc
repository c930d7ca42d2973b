#include "training/factories/buckets.h"

#include <vector>

#include "base/range.h"
#include "optim/optimizer.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class BucketsFactory : public testing::Test {
 protected:
  config::RunConfig config_ = small_run();
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<device::Backend> backend_ = make_backend(config_);
  bert::Model model_{small_bert(), *backend_, {.tokens = 32, .sequences = 1, .masked = 8}};
};

// Counts how often an element is updated, and changes nothing.
class CountingOptimizer final : public optim::Optimizer {
 public:
  explicit CountingOptimizer(int64_t elements) : updates(static_cast<size_t>(elements)) {}

  void begin_step(device::Stream, int64_t, double) override {}
  void update(device::Stream, const Range& range, const device::GradientClip&) override {
    EXPECT_LT(range.begin, range.end);
    for (int64_t i = range.begin; i < range.end; ++i) ++updates[static_cast<size_t>(i)];
  }
  std::vector<device::StateTensor> state() override { return {}; }

  std::vector<int> updates;  // by element
};

TEST_F(BucketsFactory, UpdatesAllElementsButFrozenOnes) {
  const int64_t elements = model_.layout().size;
  const std::vector<Range> buckets = gradient_buckets(config_, model_.layout());
  ASSERT_GT(buckets.size(), 4u);
  // The cases: nothing; twice within a bucket; across an end; a whole bucket; its beginning; the
  // end of all.
  const std::vector<std::vector<Range>> cases = {
      {},
      {{10, 20}, {30, 31}},
      {{buckets[0].end - 5, buckets[1].begin + 5}, {buckets[1].end - 7, buckets[1].end}},
      {{buckets[1].begin, buckets[1].end}, {buckets[3].begin, buckets[3].begin + 9}},
      {{elements - 3, elements}}};
  for (const std::vector<Range>& frozen : cases) {
    CountingOptimizer optimizer(elements);
    const auto gradient_buckets = make_gradient_buckets(
        *backend_, *communicator_, model_, bucket_options(config_, model_), optimizer, &frozen);
    gradient_buckets->mark_ready(0, elements);
    gradient_buckets->finish_step();
    std::vector<int> expected(static_cast<size_t>(elements), 1);
    for (const Range& range : frozen) {
      std::fill(expected.begin() + range.begin, expected.begin() + range.end, 0);
    }
    EXPECT_TRUE(optimizer.updates == expected) << frozen.size() << " frozen ranges";
  }
}

// NCCL exchanges equal shards in one collective, and is fast if they are aligned to 16 bytes.
TEST(BucketsOfBertLarge, HaveEqualAlignedShardsAtAnyNumberOfRanks) {
  const bert::ParameterLayout layout(bert::load_bert_config("bert-large"));
  config::RunConfig config;
  config.reduce.dtype = config::ReduceDType::kBf16;
  std::vector<int> ranks = {12, 24, 96, 768, 1000};
  for (int power = 1; power <= 4096; power *= 2) ranks.push_back(power);
  for (const double megabytes : {25.0, 125.0}) {
    config.reduce.bucket_megabytes = megabytes;
    for (const Range& bucket : gradient_buckets(config, layout)) {
      for (const int count : ranks) {
        SCOPED_TRACE(testing::Message() << bucket.size() << " elements, " << count << " ranks");
        const int64_t each = shard_of(bucket.size(), 0, count).size();
        int64_t end = 0;
        for (int rank = 0; rank < count; ++rank) {
          const Range shard = shard_of(bucket.size(), rank, count);
          ASSERT_EQ(shard.begin, end);
          ASSERT_EQ((bucket.begin + shard.begin) * 2 % 16, 0) << "rank " << rank;
          if (rank + 1 < count) {
            ASSERT_EQ(shard.size(), each) << "rank " << rank;
          }
          end = shard.end;
        }
        ASSERT_EQ(end, bucket.size());
        // The last rank has hardly more than the others.
        ASSERT_LT(bucket.size() - each * count, 8 * count);
      }
    }
  }
}

}  // namespace
}  // namespace strata::training
