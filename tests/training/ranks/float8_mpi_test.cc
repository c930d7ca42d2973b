#include <algorithm>
#include <vector>

#include "tests/training/ranks/trainer_over_ranks.h"

namespace strata::training {
namespace {

// FP8 scales come from the largest values of all ranks.
class TrainerInFloat8 : public testing::Test {
 protected:
  config::RunConfig config(int micro_batch) const {
    config::RunConfig config =
        run_of({config::ClipMode::kNone, 1, kStratified, kF32}, micro_batch, 1);
    config.model.precision = config::Precision::kFp8;
    return config;
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

TEST_F(TrainerInFloat8, RanksSyncTheLargestValues) {
  const config::RunConfig config = this->config(kGlobalBatch / world_->size());
  const auto cpu = make_backend(config);
  testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
  for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&deferred)}) {
    bert::Model model(small_bert(), *backend, capacity_of(*source_, config.batch.micro_batch),
                      model_options(config, small_bert()));
    model.set_weights(bert::random_weights(model.layout(), 7));
    Trainer trainer(config, *backend, model, *world_, 7);
    trainer.start(*source_);
    std::vector<std::vector<float>> steps;
    for (int step = 0; step < 3; ++step) {
      trainer.step();
      const device::Tensor largest = model.float8_amax();
      std::vector<float> mine(static_cast<size_t>(largest.size()));
      backend->copy_to_host(device::Stream::kCompute, mine.data(), largest.data, largest.bytes());
      backend->synchronize(device::Stream::kCompute);
      std::vector<float> of_first = mine;
      world_->broadcast(of_first.data(), of_first.size() * sizeof(float), 0);
      EXPECT_EQ(mine, of_first);
      EXPECT_GT(*std::min_element(mine.begin(), mine.end()), 0.0f) << "of every operand";
      steps.push_back(mine);
    }
    EXPECT_NE(steps[0], steps[1]);
  }
}

// Sums of gradients over ranks differ in their last bits, and so do weights after a few updates.
// FP8 then rounds some numbers to a neighbour, which differs by a sixteenth. Runs whose updates
// differ by about as little show how much the losses may differ.
TEST_F(TrainerInFloat8, LossesMatchOneRankWithTheWholeBatch) {
  const TrainingHistory whole = train(config(kGlobalBatch), *single_, *source_, 7, kSteps);
  double rounding = 0;
  for (const int of_ten_millionth : {-8, -4, -2, -1, 1, 2, 4, 8}) {
    config::RunConfig other = config(kGlobalBatch);
    other.optimizer.lr *= 1 + 1e-7 * of_ten_millionth;
    rounding = std::max(
        rounding, largest_loss_difference(train(other, *single_, *source_, 7, kSteps), whole));
  }
  const config::RunConfig shared = config(kGlobalBatch / world_->size());
  EXPECT_LE(largest_loss_difference(train(shared, *world_, *source_, 7, kSteps), whole),
            2 * rounding);

  // In the first steps only scales can differ, and with AVX2 the last bits of sums, because GEMMs
  // of fewer rows add up in another order (4e-9). If ranks did not sync the scales, losses would
  // differ by 5e-8 or more.
  constexpr int kBeforeRounding = 2;
  EXPECT_LE(
      largest_loss_difference(train(shared, *world_, *source_, 7, kBeforeRounding),
                              train(config(kGlobalBatch), *single_, *source_, 7, kBeforeRounding)),
      2e-8);
}

}  // namespace
}  // namespace strata::training
