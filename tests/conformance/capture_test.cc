#include <gtest/gtest.h>

#include <optional>

#include "device/memory/buffer.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr int64_t kSize = 5000;

// Captures work of both streams of a step: gradients from the compute stream are clipped on the
// reduce stream, and update weights on the compute stream.
class Capture : public Conformance {
 protected:
  // Starts again on a new backend.
  void SetUp() override {
    bench_.reset();
    learning_rate_ = {};
    Conformance::SetUp();
    if (IsSkipped()) return;
    bench_.emplace(backend(), Bench::Role::kTested);
    Inputs inputs(backend(), 1);
    source_ = bench_->master(inputs.master(1, kSize));
    gradients_ = bench_->master_inout("gradients", inputs.master(1, kSize));
    update_.weights = bench_->master_inout("weights", inputs.master(1, kSize));
    update_.gradients = gradients_;
    update_.first_moment = bench_->master_inout("first_moment", inputs.master(1, kSize));
    update_.second_moment = bench_->master_inout("second_moment", inputs.master(1, kSize, 1, 1));
    update_.clip.norm_squared = norm_squared_ = bench_->scalar_inout("norm_squared", 0);
    learning_rate_ = Buffer(backend(), sizeof(float));
    update_.learning_rate = value_at(learning_rate_.as<float>());
    // Captured work must have run before.
    set_learning_rate(0.5f);
    issue();
  }

  void set_learning_rate(float learning_rate) {
    backend().store(Stream::kCompute, learning_rate_.data(), &learning_rate, sizeof learning_rate);
  }

  void issue() {
    backend().convert(Stream::kCompute, {source_, 0.5f, gradients_});
    backend().wait(Stream::kReduce, backend().record(Stream::kCompute));
    backend().fill_zero(Stream::kReduce, norm_squared_, sizeof(double));
    backend().l2_norm_squared(Stream::kReduce, {gradients_, norm_squared_});
    backend().wait(Stream::kCompute, backend().record(Stream::kReduce));
    backend().adam_update(Stream::kCompute, update_);
  }

  // Returns the bits of all outputs.
  std::vector<std::vector<std::byte>> finish() {
    std::vector<std::vector<std::byte>> bits;
    for (Output& output : bench_->finish()) bits.push_back(std::move(output.bytes));
    return bits;
  }

  std::optional<Bench> bench_;
  ConstTensor source_;
  Tensor gradients_;
  AdamUpdate update_;
  double* norm_squared_ = nullptr;
  Buffer learning_rate_;
};

constexpr float kRates[] = {0.1f, 0.02f, 0.003f};

TEST_P(Capture, ReplaysMatchIssuedWorkWithTheCurrentMemory) {
  for (const float rate : kRates) {
    set_learning_rate(rate);
    issue();
  }
  const auto issued = finish();

  SetUp();
  const auto graph = backend().capture([&] { issue(); });
  if (!graph) GTEST_SKIP() << "this backend captures no graphs";
  for (const float rate : kRates) {
    set_learning_rate(rate);
    graph->launch();
  }
  EXPECT_TRUE(finish() == issued);
}

TEST_P(Capture, CallsOutsideTheCaptureRunInOrderInEveryReplay) {
  const float* next_rate = nullptr;
  const auto issue_with_call = [&] {
    backend().convert(Stream::kCompute, {source_, 0.5f, gradients_});
    backend().fill_zero(Stream::kCompute, norm_squared_, sizeof(double));
    backend().l2_norm_squared(Stream::kCompute, {gradients_, norm_squared_});
    backend().outside_capture([&] { set_learning_rate(*next_rate++); });
    backend().adam_update(Stream::kCompute, update_);
  };
  const auto begin = [&] {
    next_rate = &kRates[1];
    issue_with_call();  // captured work must have run before
    next_rate = kRates;
  };
  begin();
  for (size_t i = 0; i < std::size(kRates); ++i) issue_with_call();
  const auto issued = finish();

  SetUp();
  begin();
  const auto graph = backend().capture(issue_with_call);
  if (!graph) GTEST_SKIP() << "this backend captures no graphs";
  EXPECT_EQ(next_rate, kRates);
  for (size_t i = 0; i < std::size(kRates); ++i) graph->launch();
  EXPECT_EQ(next_rate, std::end(kRates));
  EXPECT_TRUE(finish() == issued);
}

TEST_P(Capture, CapturedWorkDoesNotRun) {
  const auto before = [&] {
    SetUp();
    return finish();
  }();
  SetUp();
  set_learning_rate(0.1f);
  if (!backend().capture([&] { issue(); })) GTEST_SKIP() << "this backend captures no graphs";
  EXPECT_TRUE(finish() == before);
}

TEST_P(Capture, WorkOnTheReduceStreamFollowsAReplay) {
  const auto graph = backend().capture([&] { issue(); });
  if (!graph) GTEST_SKIP() << "this backend captures no graphs";
  double norm_squared = 0;
  graph->launch();
  backend().copy_to_host(Stream::kReduce, &norm_squared, norm_squared_, sizeof norm_squared);
  backend().synchronize(Stream::kReduce);
  EXPECT_GT(norm_squared, 0);
}

TEST_P(Capture, AnErrorDuringCaptureLeavesTheBackendUsable) {
  const auto attempt = [&] {
    return backend().capture([&] {
      issue();
      fail("no further");
    });
  };
  try {
    if (!attempt()) GTEST_SKIP() << "this backend captures no graphs";
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no further");
  }
  issue();
  EXPECT_NO_THROW(finish());
}

INSTANTIATE_TEST_SUITE_P(Backends, Capture, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
