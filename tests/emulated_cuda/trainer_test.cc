// Whole training steps of the CUDA backend: issued, launched as graphs, and on the processor. The
// stand-in reports work that must not be captured (allocations, waits of the host) as an error.
#include "training/trainer.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda/cuda_backend.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "tests/training/mlperf_reference_training.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr int kSteps = 12;

struct Case {
  const char* name;
  config::OptimizerKind optimizer;
  config::ClipMode clip;
  config::Precision precision;
  int accumulation;
};

class CudaTrainer : public testing::TestWithParam<Case> {
 protected:
  config::RunConfig config() const {
    config::RunConfig config = small_run();
    config.optimizer.name = GetParam().optimizer;
    config.clip = {GetParam().clip, 0.3};
    config.model.precision = GetParam().precision;
    config.batch.micro_batch = 4 / GetParam().accumulation;
    config.batch.gradient_accumulation_steps = GetParam().accumulation;
    config.batch.round_tokens = 64;
    return config;
  }
  TrainingHistory on_gpu(const config::RunConfig& config) {
    const auto dtype = GetParam().precision == config::Precision::kFp32 ? device::DType::kF32
                                                                        : device::DType::kBF16;
    const auto gpu = device::cuda::make_cuda_backend(dtype, 0);
    return train(config, *gpu, *communicator_, *source_, 7, kSteps);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(48));
};

INSTANTIATE_TEST_SUITE_P(
    Modes, CudaTrainer,
    testing::Values(Case{"adam_fp32", config::OptimizerKind::kAdam,
                         config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp32, 1},
                    Case{"adam_bf16", config::OptimizerKind::kAdam,
                         config::ClipMode::kBeforeAllReduce, config::Precision::kBf16, 1},
                    Case{"adam_fp8", config::OptimizerKind::kAdam,
                         config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp8, 1},
                    Case{"lamb_bf16", config::OptimizerKind::kLamb,
                         config::ClipMode::kAfterAllReduce, config::Precision::kBf16, 2},
                    Case{"madgrad_bf16", config::OptimizerKind::kMadgrad,
                         config::ClipMode::kAfterAllReduce, config::Precision::kBf16, 1},
                    Case{"acclip_fp32", config::OptimizerKind::kAcClip, config::ClipMode::kNone,
                         config::Precision::kFp32, 1},
                    Case{"sgd_bf16", config::OptimizerKind::kSgd, config::ClipMode::kAfterAllReduce,
                         config::Precision::kBf16, 1}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(CudaTrainer, ReplayedStepsHaveTheBitsOfIssuedOnes) {
  config::RunConfig launched = config();
  launched.device.graphs = true;
  emulated_cuda::graph_launches = 0;
  const TrainingHistory history = on_gpu(launched);
  EXPECT_GE(emulated_cuda::graph_launches, kSteps / 2);
  const TrainingHistory issued = on_gpu(config());
  EXPECT_EQ(history.weights, issued.weights);
  EXPECT_EQ(largest_loss_difference(history, issued), 0);
}

TEST_P(CudaTrainer, WarmUpRecordsAllSteps) {
  config::RunConfig launched = config();
  launched.device.graphs = true;
  launched.initialization.warmup_steps = 2;
  launched.target.max_steps = kSteps;
  launched.data.shapes = write_small_shapes(*source_);
  emulated_cuda::graph_launches = 0;
  const TrainingHistory history = on_gpu(launched);
  // It only measures the operands.
  const bool first_is_issued = GetParam().precision == config::Precision::kFp8;
  EXPECT_EQ(emulated_cuda::graph_launches,
            (first_is_issued ? kSteps - 1 : kSteps) * GetParam().accumulation);
  EXPECT_EQ(history.weights, on_gpu(config()).weights);
}

TEST_P(CudaTrainer, CapturedGraphsAreOnTheGpuBeforeTheyAreLaunched) {
  config::RunConfig launched = config();
  launched.device.graphs = true;
  emulated_cuda::graph_launches = emulated_cuda::late_uploads = 0;
  on_gpu(launched);
  EXPECT_GT(emulated_cuda::graph_launches, 0);
  EXPECT_EQ(emulated_cuda::late_uploads, 0);
}

TEST_P(CudaTrainer, StepsWithoutMemoryForTheirGraphsHaveTheSameBits) {
  config::RunConfig launched = config();
  launched.device.graphs = true;
  const bert::HostWeights expected = on_gpu(config()).weights;
  constexpr size_t kReserve = 64 << 20;
  struct Room {
    size_t free, graph_bytes;
    bool has_graphs;
  };
  for (const Room& room : {Room{kReserve + 50, 100, true}, Room{kReserve - 1, 100, false},
                           Room{kReserve + 50, 2 * kReserve, false}}) {
    const size_t before = std::exchange(emulated_cuda::free_memory, room.free);
    emulated_cuda::graph_bytes = room.graph_bytes;
    emulated_cuda::graph_launches = 0;
    const TrainingHistory history = on_gpu(launched);
    emulated_cuda::graph_bytes = 0;
    EXPECT_EQ(std::exchange(emulated_cuda::free_memory, before), room.free)
        << "graphs are not released";
    EXPECT_EQ(emulated_cuda::graph_launches > 0, room.has_graphs);
    EXPECT_EQ(history.weights, expected);
  }
}

TEST_P(CudaTrainer, HasTheLossesOfTheProcessor) {
  const auto cpu = device::make_backend({.name = "cpu", .compute_dtype = device::DType::kF32});
  const TrainingHistory expected = train(config(), *cpu, *communicator_, *source_, 7, kSteps);
  const double bound = GetParam().precision == config::Precision::kFp32 ? 1e-4 : 0.03;
  EXPECT_LE(largest_loss_difference(on_gpu(config()), expected), bound);
}

// Here the host waits for a step's reductions before its updates.
TEST(CudaTraining, Fp16HasTheLossesAndSkippedStepsOfTheProcessor) {
  const auto communicator = comm::make_single_communicator();
  const auto source = open_small(counting_instances(48));
  for (const auto clip : {config::ClipMode::kNone, config::ClipMode::kAfterAllReduce,
                          config::ClipMode::kBucketBeforeAllReduce}) {
    config::RunConfig config = small_run();
    config.model.precision = config::Precision::kFp16;
    config.clip = {clip, 0.3};
    config.batch.micro_batch = 4;
    config.loss_scale = {.initial = 1 << 22, .growth_steps = 4};
    const auto gpu = device::cuda::make_cuda_backend(device::DType::kF16, 0);
    const auto cpu = device::make_backend({.name = "cpu", .compute_dtype = device::DType::kF16});
    const TrainingHistory on_gpu = train(config, *gpu, *communicator, *source, 7, kSteps);
    const TrainingHistory on_cpu = train(config, *cpu, *communicator, *source, 7, kSteps);
    EXPECT_LE(largest_loss_difference(on_gpu, on_cpu), 5e-3);
    int skipped = 0;
    for (int step = 0; step < kSteps; ++step) {
      const auto at = static_cast<size_t>(step);
      EXPECT_EQ(on_gpu.steps[at].skipped, on_cpu.steps[at].skipped) << step;
      EXPECT_EQ(on_gpu.steps[at].loss_scale, on_cpu.steps[at].loss_scale) << step;
      skipped += on_gpu.steps[at].skipped ? 1 : 0;
    }
    EXPECT_GE(skipped, 2);
    EXPECT_LE(skipped, kSteps / 2);
  }
}

// Otherwise a graph cache would stop capturing, as if memory were short.
TEST(CudaTraining, AnAllocationDuringCaptureIsNotALackOfMemory) {
  const auto gpu = device::cuda::make_cuda_backend(device::DType::kF32, 0);
  bool is_lack_of_memory = false;
  try {
    gpu->capture([&] { gpu->allocate(64); });
    ADD_FAILURE() << "memory was allocated during capture";
  } catch (const Error& error) {
    is_lack_of_memory = dynamic_cast<const device::OutOfDeviceMemory*>(&error) != nullptr;
  }
  EXPECT_FALSE(is_lack_of_memory);
}

TEST(CudaTraining, FollowsMlperfsReference) {
  const auto gpu = device::cuda::make_cuda_backend(device::DType::kF32, 0);
  expect_to_follow_mlperfs_reference(*gpu, *comm::make_single_communicator(), 5);
}

}  // namespace
}  // namespace strata::training
