#include <fmt/format.h>

#include "base/error.h"
#include "bert/weights/weights.h"
#include "tests/training/small_training.h"
#include "training/bert_system.h"

namespace strata::training {
namespace {

constexpr uint64_t kSeed = 7;

// A model with two layers per stage, in a folder of all ranks.
class BertSystemOfStages : public testing::Test {
 protected:
  BertSystemOfStages() {
    uint64_t owner = static_cast<uint64_t>(::getpid());
    world_->broadcast(&owner, sizeof owner, 0);
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("strata.system.{}", owner);
    if (world_->rank() == 0) {
      std::filesystem::create_directories(folder_);
      write_small_model(folder_ / "model.json", 2 * world_->size());
      write_small_data(folder_ / "data.hdf5", counting_instances(48));
    }
    world_->barrier();
    config_ = small_run();
    config_.model.config = folder_ / "model.json";
    config_.data.train = config_.data.eval = {folder_ / "data.hdf5"};
    config_.parallel.stages = world_->size();
  }
  ~BertSystemOfStages() override {
    world_->barrier();
    if (world_->rank() == 0) std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::filesystem::path folder_;
  config::RunConfig config_;
};

// Each stage takes its part of the whole model's weights, and all parts are saved again.
TEST_F(BertSystemOfStages, BeginsWithTheWeightsOfTheWholeModel) {
  for (const auto pipeline : {config::PipelineKind::kContiguous, config::PipelineKind::kModular}) {
    config_.parallel.pipeline = pipeline;
    const Ranks ranks{*world_};
    BertSystem system(config_, ranks);
    const std::filesystem::path saved = folder_ / "saved.safetensors";
    system.prepare(kSeed, {.checkpoint = saved}, [](const std::string&) {});
    system.save();
    world_->barrier();
    const bert::ParameterLayout whole(make_bert_config(config_));
    EXPECT_EQ(bert::load_weights(whole, saved, kSeed + 1).values,
              bert::random_weights(whole, kSeed));
    world_->barrier();
  }
}

TEST_F(BertSystemOfStages, CountsTheNodesThatRanksAreOn) {
  const int count = world_->size();
  for (const int on_this : {1, count}) {
    const Ranks ranks{*world_, {.rank = world_->rank() % on_this, .count = on_this}};
    EXPECT_EQ(BertSystem(config_, ranks).system_facts().nodes, count / on_this);
    EXPECT_EQ(BertSystem(config_, ranks).system_facts().ranks, count);
  }
}

}  // namespace
}  // namespace strata::training
