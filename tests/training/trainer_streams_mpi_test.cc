// Tests ranks with deferred devices, and a fake NCCL on their streams.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "device/cuda/host/nccl_collectives.h"
#include "tests/support/deferred_backend.h"
#include "tests/training/small_training.h"
#include "training/trainer.h"

namespace strata::training {
namespace {

constexpr int kSteps = 6, kGlobalBatch = 12;
constexpr auto kNone = config::Sharding::kNone, kState = config::Sharding::kState,
               kGradients = config::Sharding::kGradients, kAll = config::Sharding::kAll;

struct Case {
  const char* name;
  config::ClipMode clip;
  config::Precision precision;
  config::Sharding sharded;
  config::OptimizerKind optimizer = config::OptimizerKind::kAdam;
  int accumulation = 1;
  bool layer_order = false;

  // Blocks share buffers, which graphs do not allow.
  bool shares_buffers() const { return sharded >= config::Sharding::kGradients; }
};

class TrainerOnStreams : public testing::TestWithParam<Case> {
 protected:
  config::RunConfig config(bool graphs, int warmup_steps) const {
    config::RunConfig config = small_run();
    config.clip = {GetParam().clip, 0.3};
    config.model.precision = GetParam().precision;
    config.optimizer.sharded = GetParam().sharded;
    config.optimizer.name = GetParam().optimizer;
    config.batch.micro_batch = kGlobalBatch / world_->size() / GetParam().accumulation;
    config.batch.gradient_accumulation_steps = GetParam().accumulation;
    if (GetParam().layer_order) {
      config.batch.accumulation_order = config::AccumulationOrder::kLayer;
    }
    if (GetParam().shares_buffers())
      config.reduce.bucket_megabytes = 0.02;  // every layer has a bucket
    config.batch.round_tokens = 32;
    config.log.loss_interval_steps = 3;
    config.device.graphs = graphs;
    config.initialization.warmup_steps = warmup_steps;
    config.target.max_steps = kSteps;
    config.data.shapes = write_small_shapes(*source_);
    return config;
  }

  std::vector<bool> with_and_without_graphs() const {
    return GetParam().shares_buffers() ? std::vector{false} : std::vector{false, true};
  }
  TrainingHistory train(const config::RunConfig& config, device::Backend& backend,
                        Timeline* timeline = nullptr) {
    return training::train(config, backend, *world_, *source_, 7, kSteps, timeline,
                           small_bert(GetParam().shares_buffers() ? 5 : 2));
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(48));
};

INSTANTIATE_TEST_SUITE_P(
    Modes, TrainerOnStreams,
    testing::Values(
        Case{"clipped", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kNone},
        Case{"bucket_clipped", config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp32,
             kNone, config::OptimizerKind::kAdam, 3},
        Case{"sharded", config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp32, kState},
        Case{"lamb", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kNone,
             config::OptimizerKind::kLamb},
        Case{"lamb_sharded", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kState,
             config::OptimizerKind::kLamb},
        Case{"madgrad_sharded", config::ClipMode::kAfterAllReduce, config::Precision::kBf16, kState,
             config::OptimizerKind::kMadgrad},
        Case{"acclip", config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp32, kNone,
             config::OptimizerKind::kAcClip},
        Case{"sgd_sharded", config::ClipMode::kAfterAllReduce, config::Precision::kBf16, kState,
             config::OptimizerKind::kSgd},
        Case{"madgrad_all", config::ClipMode::kNone, config::Precision::kFp32, kAll,
             config::OptimizerKind::kMadgrad},
        Case{"fp8", config::ClipMode::kNone, config::Precision::kFp8, kNone,
             config::OptimizerKind::kAdam, 2},
        Case{"fp8_sharded", config::ClipMode::kBeforeAllReduce, config::Precision::kFp8, kState},
        Case{"gradients", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kGradients,
             config::OptimizerKind::kAdam, 2},
        Case{"fp8_gradients", config::ClipMode::kNone, config::Precision::kFp8, kGradients,
             config::OptimizerKind::kAdam, 2},
        Case{"all", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kAll,
             config::OptimizerKind::kAdam, 2},
        Case{"all_in_layer_order", config::ClipMode::kBucketBeforeAllReduce,
             config::Precision::kBf16, kAll, config::OptimizerKind::kAdam, 3, true},
        Case{"lamb_all", config::ClipMode::kAfterAllReduce, config::Precision::kFp32, kAll,
             config::OptimizerKind::kLamb}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(TrainerOnStreams, HoldsTheWeightsOfHostMemoryWheneverStreamsRun) {
  const auto cpu = make_backend(config(false, 0));
  const TrainingHistory in_host_memory = train(config(false, 0), *cpu);
  for (const bool graphs : with_and_without_graphs()) {
    for (const int warmup_steps : {0, 2}) {
      for (uint64_t schedule = 0; schedule < 4; ++schedule) {
        testing_support::DeferredBackend deferred(
            *cpu, 10 * schedule + static_cast<uint64_t>(world_->rank()));
        deferred.use_collectives(device::cuda::make_nccl_collectives);
        const TrainingHistory on_device = train(config(graphs, warmup_steps), deferred);
        EXPECT_EQ(on_device.weights, in_host_memory.weights)
            << (graphs ? "launched, " : "") << warmup_steps << " steps of warm-up";
        EXPECT_EQ(on_device.steps[2].losses->mean_loss(),
                  in_host_memory.steps[2].losses->mean_loss());
        if (graphs && warmup_steps > 0) {
          EXPECT_GE(deferred.launches(), (kSteps - 1) * GetParam().accumulation);
        }
      }
    }
  }
}

// Compares ranks that hold a model together and exchange results on their own streams, with at
// least so many device messages per step.
void expect_the_weights_of_host_memory(const config::RunConfig& config,
                                       const bert::BertConfig& bert, int steps,
                                       int messages_of_step) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(48));
  void* nccl = ::dlopen("libnccl.so.2", RTLD_NOW);
  const auto messages = reinterpret_cast<int (*)()>(::dlsym(nccl, "fakeNcclMessages"));
  const auto cpu = make_backend(config);
  const auto train_on = [&](device::Backend& backend) {
    return train(config, backend, *world, *source, 7, steps, nullptr, bert);
  };
  const TrainingHistory in_host_memory = train_on(*cpu);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    testing_support::DeferredBackend deferred(*cpu,
                                              2 * seed + static_cast<uint64_t>(world->rank()));
    deferred.use_collectives(device::cuda::make_nccl_collectives);
    const int before = messages();
    const TrainingHistory on_device = train_on(deferred);
    EXPECT_EQ(on_device.weights, in_host_memory.weights);
    EXPECT_EQ(on_device.evaluation.mean_loss(), in_host_memory.evaluation.mean_loss());
    EXPECT_GE(messages() - before, messages_of_step * steps);
  }
}

bert::BertConfig four_layers() {
  bert::BertConfig bert = small_bert();
  bert.layers = 4;
  return bert;
}

bool on_two_ranks() { return comm::make_mpi_communicator()->size() == 2; }

TEST(PipelineOnStreams, HoldsTheWeightsOfHostMemory) {
  if (!on_two_ranks()) GTEST_SKIP() << "it is a pipeline of two stages";
  for (const auto pipeline : {config::PipelineKind::kContiguous, config::PipelineKind::kModular}) {
    config::RunConfig config = small_run();
    config.parallel = {2, pipeline};
    config.batch.micro_batch = 2;
    config.batch.gradient_accumulation_steps = 3;
    // Either rank sends over two or four borders, in both directions.
    const int borders = pipeline == config::PipelineKind::kModular ? 4 : 2;
    expect_the_weights_of_host_memory(config, four_layers(), 3, 3 * borders);
  }
}

TEST(ModulesOnStreams, HoldTheWeightsOfHostMemory) {
  if (!on_two_ranks()) GTEST_SKIP() << "they are three modules";
  for (const int64_t warmup_steps : {0, 2}) {
    config::RunConfig config = small_run();
    config.ouroboros = {3, warmup_steps, config::TiedGradient::kSum};
    config.batch.micro_batch = 3;
    // Either rank sends over two borders, in both directions.
    expect_the_weights_of_host_memory(config, four_layers(), 6, 2);
  }
}

// Returns how many spans of each name this rank has.
std::map<std::string, int> spans_of(const Timeline& timeline, int rank) {
  char name[] = "/tmp/strata_timeline_XXXXXX";
  const int file = ::mkstemp(name);
  ::close(file);
  timeline.write(name);
  std::map<std::string, int> spans;
  if (rank == 0) {
    const nlohmann::json trace = nlohmann::json::parse(read_file(name));
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["pid"] == 0) ++spans[event["name"].get<std::string>()];
    }
  }
  std::filesystem::remove(name);
  return spans;
}

TEST_P(TrainerOnStreams, ATimelineHasTheWorkOfTheDevice) {
  const auto cpu = make_backend(config(false, 0));
  const TrainingHistory plain = train(config(false, 0), *cpu);
  for (const bool graphs : with_and_without_graphs()) {
    testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
    deferred.use_collectives(device::cuda::make_nccl_collectives);
    Timeline timeline(*world_);
    const TrainingHistory traced = train(config(graphs, 0), deferred, &timeline);
    EXPECT_EQ(traced.weights, plain.weights);
    const auto spans = spans_of(timeline, world_->rank());
    if (world_->rank() > 0) continue;
    EXPECT_EQ(spans.at("step 2"), 1);
    EXPECT_FALSE(spans.contains("step 4"));
    // The parts of a launched graph are not timed.
    EXPECT_EQ(spans.contains("forward embeddings"), !graphs);
    if (graphs) continue;
    for (const char* computed : {"forward heads", "backward embeddings"}) {
      EXPECT_EQ(spans.at(computed), 2 * GetParam().accumulation) << computed;
    }
    EXPECT_EQ(spans.at("update 0"), 2);
    EXPECT_EQ(spans.contains("reduce 0"), world_->size() > 1);
    const config::Sharding sharded = GetParam().sharded;
    EXPECT_EQ(spans.contains("gather heads"), world_->size() > 1 && sharded == kAll);
    EXPECT_EQ(spans.contains("gather_updated 0"),
              world_->size() > 1 && sharded != kNone && sharded != kAll);
  }
}

}  // namespace
}  // namespace strata::training
