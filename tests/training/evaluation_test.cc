#include "training/evaluation.h"

#include <map>

#include "base/error.h"
#include "tests/support/matchers.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class Evaluation : public testing::Test {
 protected:
  Evaluation() { model_.set_weights(bert::random_weights(model_.layout(), 3)); }

  bert::Losses evaluate(int64_t samples, int64_t micro_batch) {
    Evaluator evaluator(model_, *source_, samples, micro_batch, *communicator_);
    return evaluator.evaluate();
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(21));
  std::unique_ptr<device::Backend> backend_ = make_backend(small_run());
  bert::Model model_{small_bert(), *backend_, capacity_of(*source_, 8)};
};

TEST_F(Evaluation, CountsEverySampleOnce) {
  const bert::Losses losses = evaluate(0, 8);
  EXPECT_EQ(losses.next_sentence.count, 21);
  int64_t masked = 0;
  for (const int32_t count : source_->masked_counts()) masked += count;
  EXPECT_EQ(losses.masked_lm.count, masked);
}

TEST_F(Evaluation, DoesNotDependOnTheMicroBatch) {
  const bert::Losses all = evaluate(0, 8);
  for (const int64_t micro_batch : {1, 2, 5, 7}) {
    const bert::Losses losses = evaluate(0, micro_batch);
    EXPECT_NEAR(losses.mean_loss(), all.mean_loss(), 1e-5);
    EXPECT_EQ(losses.masked_lm.correct, all.masked_lm.correct);
    EXPECT_EQ(losses.masked_lm.count, all.masked_lm.count);
  }
}

TEST_F(Evaluation, TakesTheFirstSamples) {
  const bert::Losses losses = evaluate(5, 2);
  EXPECT_EQ(losses.next_sentence.count, 5);
  int64_t masked = 0;
  for (int i = 0; i < 5; ++i) masked += source_->masked_counts()[i];
  EXPECT_EQ(losses.masked_lm.count, masked);
}

TEST_F(Evaluation, UsesTheCurrentWeights) {
  Evaluator evaluator(model_, *source_, 0, 8, *communicator_);
  const double before = evaluator.evaluate().mean_loss();
  EXPECT_EQ(evaluator.evaluate().mean_loss(), before) << "dropout in an evaluation?";
  model_.set_weights(bert::random_weights(model_.layout(), 4));
  EXPECT_NE(evaluator.evaluate().mean_loss(), before);
}

// Counts gathers without gathering, since all weights are in memory.
class CountingGatherer final : public comm::WeightGatherer {
 public:
  void gather(int group) override { ++gathers[group]; }

  std::map<int, int> gathers;  // by gather group
};

// Every gather sends the weights to all ranks, so none may be unnecessary.
TEST_F(Evaluation, GathersWeightsOnceAMicroBatch) {
  for (const auto& [samples, micro_batch, micro_batches] :
       {std::array{16, 8, 2}, {17, 8, 3}, {21, 7, 3}, {5, 8, 1}}) {
    CountingGatherer weights;
    Evaluator evaluator(model_, *source_, samples, micro_batch, *communicator_, &weights);
    EXPECT_EQ(evaluator.evaluate().next_sentence.count, samples);
    for (const auto& [group, gathers] : weights.gathers) {
      EXPECT_EQ(gathers, micro_batches) << samples << " samples, gather group " << group;
    }
    EXPECT_FALSE(weights.gathers.empty());
  }
}

TEST_F(Evaluation, RefusesMoreSamplesThanThereAre) {
  try {
    evaluate(22, 8);
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("data.eval_samples=22"));
    EXPECT_THAT(std::string(error.what()), HasSubstr("21"));
  }
}

}  // namespace
}  // namespace strata::training
