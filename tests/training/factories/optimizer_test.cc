#include "training/factories/optimizer.h"

#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class OptimizerFactory : public testing::Test {
 protected:
  config::RunConfig config_ = small_run();
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<device::Backend> backend_ = make_backend(config_);
  bert::Model model_{small_bert(), *backend_, {.tokens = 32, .sequences = 1, .masked = 8}};
};

TEST_F(OptimizerFactory, StatePerWeightIsWhatTheOptimizerKeeps) {
  using enum config::OptimizerKind;
  for (const config::OptimizerKind kind : {kAdam, kLamb, kMadgrad, kAcClip, kSgd}) {
    config_.optimizer.name = kind;
    const auto optimizer = make_optimizer(config_, *backend_, model_, *communicator_);
    int64_t kept = 0;
    for (const device::StateTensor& state : optimizer->state()) kept += state.tensor.size();
    EXPECT_EQ(state_per_weight(kind) * model_.layout().size, kept) << name_of(kind);
  }
}

}  // namespace
}  // namespace strata::training
