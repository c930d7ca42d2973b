#include "bench/operations/operations_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "bench/devices/operands.h"
#include "bench/step/synthetic_training.h"
#include "bert/flops.h"
#include "device/registry/backends.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/training/tiny_run.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/model.h"

namespace strata::bench {
namespace {

class OperationsBenchmarkTest : public testing::Test {
 protected:
  OperationsBenchmark run(config::RunConfig config, const char* only = "", int rounds = 1) {
    return benchmark_operations(config, {.rounds = rounds, .micro_batch_tokens = 200, .only = only},
                                training::Ranks{*communicator_},
                                [this](const std::string& next) { described_.push_back(next); });
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::vector<std::string> described_;
};

// The FLOPs of a step's operations add up to those of the model.
TEST_F(OperationsBenchmarkTest, OperationsAddUpToTheModelsStep) {
  const config::RunConfig config = training::tiny_run(2);
  const OperationsBenchmark result = run(config);
  const bert::BertConfig model = training::make_bert_config(config);
  const auto lengths = micro_batch_lengths(config, {200}, model, 1);
  const auto masked = std::ssize(training::synthetic_batch(model, lengths, 1).masked_ids);
  // The head's transform is not measured.
  const double transform =
      6.0 * static_cast<double>(masked * model.hidden_size * model.hidden_size);
  double flops = 0;
  for (const OperationTime& o : result.operations)
    flops += static_cast<double>(o.per_step) * o.flops;
  const double expected = bert::training_flops(model, lengths, masked) - transform;
  EXPECT_NEAR(flops, expected, 1e-9 * expected);
  EXPECT_EQ(result.tokens, 200);
  EXPECT_EQ(described_.size(), result.operations.size() + 1);
}

TEST_F(OperationsBenchmarkTest, EveryRoundMeasuresAllOperations) {
  const OperationsBenchmark result = run(training::tiny_run(2), "attention", 3);
  EXPECT_EQ(described_, (std::vector<std::string>{"attention_forward ", "attention_backward ",
                                                  "peaks", "round 2 of 3", "round 3 of 3"}));
  for (const OperationTime& o : result.operations) {
    EXPECT_LE(o.rounds.lower, o.seconds) << o.operation;
    EXPECT_GE(o.rounds.upper, o.seconds) << o.operation;
    EXPECT_GT(o.rounds.lower, 0) << o.operation;
  }
  EXPECT_GT(result.matrix_peak_rounds.lower, 0);
  EXPECT_GE(result.copy_peak_rounds.upper, result.copy_peak_bytes_per_second);
}

TEST_F(OperationsBenchmarkTest, ArenaIsFilledAgainWhereOthersWrote) {
  const auto backend = device::make_backend({.name = "cpu", .threads = 1});
  OperandArena arena(*backend);
  const auto values = [&](const device::Tensor& tensor) {
    const auto* begin = tensor.as<float>();
    return std::vector<float>(begin, begin + tensor.size());
  };
  constexpr int64_t kPage = 4096 / sizeof(float);
  EXPECT_FALSE(Operands(*backend, false, arena).master(1, 3 * kPage));
  EXPECT_TRUE(arena.counts());
  EXPECT_EQ(arena.used(), 0u);
  arena.allocate(4 * kPage * sizeof(float));
  std::vector<float> first, second;
  for (int round = 0; round < 2; ++round) {
    Operands operands(*backend, false, arena);
    const device::Tensor one = operands.master(1, kPage), two = operands.master(1, 3 * kPage);
    EXPECT_EQ(arena.used(), 4 * kPage * sizeof(float));
    if (round == 0) {
      first = values(one);
      second = values(two);
      EXPECT_NE(first, std::vector<float>(second.begin(), second.begin() + kPage));
      std::fill_n(one.as<float>(), 4 * kPage, 9.0f);
      arena.set_overwritten(2 * kPage * sizeof(float));
      continue;
    }
    EXPECT_EQ(values(one), first);
    std::fill(second.begin() + kPage, second.end(), 9.0f);
    EXPECT_EQ(values(two), second);
  }
}

TEST_F(OperationsBenchmarkTest, QuartilesFarApartAreUnsteady) {
  const Quartiles close = quartiles_of({1.04, 1.0, 1.0, 5.0, 0.96});
  EXPECT_EQ(close.lower, 1.0);
  EXPECT_EQ(close.median, 1.0);
  EXPECT_EQ(close.upper, 1.04);
  EXPECT_FALSE(close.unsteady());
  EXPECT_TRUE(quartiles_of({1.04, 1.0, 1.2, 5.0, 0.96}).unsteady());
  EXPECT_FALSE(quartiles_of({3.0}).unsteady());
}

TEST_F(OperationsBenchmarkTest, ShareOfPeakIsTheLeastPossibleTimeOverTheMeasuredTime) {
  OperationsBenchmark b;
  b.matrix_peak_flops_per_second = 1000;
  b.copy_peak_bytes_per_second = 100;
  EXPECT_DOUBLE_EQ(b.share_of_peak({.seconds = 4, .flops = 2000, .bytes = 100}), 0.5);
  EXPECT_DOUBLE_EQ(b.share_of_peak({.seconds = 4, .bytes = 100}), 0.25);
}

TEST_F(OperationsBenchmarkTest, RunsOnEveryBackend) {
  config::RunConfig config = training::tiny_run(2);
  config.device.backend = &device::find_backend("reference");
  for (const OperationTime& o : run(config).operations) {
    EXPECT_GT(o.seconds, 0) << o.operation;
    EXPECT_GT(o.bytes, 0) << o.operation;
  }
}

TEST_F(OperationsBenchmarkTest, OnlyTheRequestedOperationsAreMeasured) {
  const auto only = [&](const char* name) {
    std::vector<std::string> operations;
    for (const OperationTime& o : run(training::tiny_run(2), name).operations)
      operations.push_back(o.operation);
    return operations;
  };
  EXPECT_EQ(only("attention"),
            (std::vector<std::string>{"attention_forward", "attention_backward"}));
  EXPECT_THROW(only("attentions"), Error);
}

TEST_F(OperationsBenchmarkTest, SequencesMayAllBeOfOneLength) {
  const auto lengths = [&](int64_t tokens, int32_t length) {
    return benchmark_operations(
        training::tiny_run(3),
        {.rounds = 1, .micro_batch_tokens = tokens, .length = length, .only = "attention_forward"},
        training::Ranks{*communicator_}, [](const std::string&) {});
  };
  EXPECT_EQ(lengths(200, 64).lengths, (std::vector<int32_t>{64, 64, 64}));
  EXPECT_EQ(lengths(200, 64).tokens, 192);
  EXPECT_EQ(lengths(20, 64).lengths, (std::vector<int32_t>{64}));
  EXPECT_EQ(lengths(0, 32).lengths, (std::vector<int32_t>{32, 32, 32}));
  // Two products of 32 x 32 scores for each of three sequences and 64 hidden units.
  EXPECT_DOUBLE_EQ(lengths(0, 32).operations.front().flops, 2 * 2.0 * 64 * 3 * 32 * 32);
  EXPECT_THROW(lengths(0, 513), Error);
}

TEST_F(OperationsBenchmarkTest, SeveralRanksAreRefused) {
  comm::MirrorCommunicator two;
  EXPECT_THROW(benchmark_operations(training::tiny_run(2), {}, training::Ranks{two},
                                    [](const std::string&) {}),
               Error);
}

}  // namespace
}  // namespace strata::bench
