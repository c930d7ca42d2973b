#include <gtest/gtest.h>

#include <thread>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr int kRounds = 10;
constexpr int64_t kHidden = 128, kElements = 100003;

bool same_bits(const std::vector<Output>& a, const std::vector<Output>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Output& x, const Output& y) { return x.bytes == y.bytes; });
}

// The work of the compute stream in a step, repeated into the same outputs.
class ForwardAndBackward {
 public:
  explicit ForwardAndBackward(Backend& backend) : bench_(backend, Bench::Role::kTested) {
    Inputs inputs(backend, 1);
    const int64_t tokens = batch_.tokens();
    const Sequences sequences = bench_.sequences(batch_);
    const Dropout dropout{0.1f, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kAttention)};
    linear_.x = bench_.compute(inputs.compute(tokens, kHidden));
    linear_.weight = bench_.compute(inputs.compute(3 * kHidden, kHidden, 0.2));
    linear_.bias = bench_.compute(inputs.compute(1, 3 * kHidden));
    linear_.y = bench_.compute_output("qkv", tokens, 3 * kHidden);
    attention_.qkv = linear_.y;
    attention_.sequences = sequences;
    attention_.heads = 2;
    attention_.dropout = dropout;
    attention_.context = bench_.compute_output("context", tokens, kHidden);
    attention_.log_sum_exp = bench_.master_output("log_sum_exp", tokens, 2);
    attention_backward_ = {attention_.qkv,
                           attention_.context,
                           bench_.compute(inputs.compute(tokens, kHidden)),
                           attention_.log_sum_exp,
                           sequences,
                           2,
                           dropout,
                           bench_.compute_output("d_qkv", tokens, 3 * kHidden)};
    weight_gradient_ = {linear_.x, attention_backward_.d_qkv, true,
                        bench_.master_inout("d_weight", inputs.master(3 * kHidden, kHidden)),
                        bench_.master_inout("d_bias", inputs.master(1, 3 * kHidden))};
  }

  void run() {
    Backend& backend = bench_.backend();
    for (int round = 0; round < kRounds; ++round) {
      backend.linear_forward(Stream::kCompute, linear_);
      backend.attention_forward(Stream::kCompute, attention_);
      backend.attention_backward(Stream::kCompute, attention_backward_);
      backend.linear_weight_gradient(Stream::kCompute, weight_gradient_);
    }
    backend.synchronize(Stream::kCompute);
  }
  std::vector<Output> outputs() { return bench_.finish(); }

 private:
  Packed batch_{{37, 1, 64}};
  Bench bench_;
  LinearForward linear_;
  AttentionForward attention_;
  AttentionBackward attention_backward_;
  LinearWeightGradient weight_gradient_;
};

// The work of the reduce stream on finished gradients.
class NormAndUpdate {
 public:
  explicit NormAndUpdate(Backend& backend) : bench_(backend, Bench::Role::kTested) {
    Inputs inputs(backend, 2);
    source_ = bench_.master(inputs.master(1, kElements));
    update_.weights = bench_.master_inout("weights", inputs.master(1, kElements));
    gradients_ = bench_.master_output("gradients", 1, kElements);
    update_.gradients = gradients_;
    update_.first_moment = bench_.master_inout("first_moment", inputs.master(1, kElements));
    update_.second_moment = bench_.master_inout("second_moment", inputs.master(1, kElements, 1, 1));
    update_.learning_rate = 0.01f;
    norm_squared_ = bench_.scalar_inout("norm_squared", 0);
    update_.clip.norm_squared = norm_squared_;
  }

  void run() {
    Backend& backend = bench_.backend();
    for (int round = 0; round < kRounds; ++round) {
      backend.convert(Stream::kReduce, {source_, 0.5f, gradients_});
      backend.l2_norm_squared(Stream::kReduce, {update_.gradients, norm_squared_});
      backend.clip_to_norm(Stream::kReduce, {gradients_, norm_squared_, 100.0f});
      update_.corrections = bias_corrections(update_.beta1, update_.beta2, round + 1);
      backend.adam_update(Stream::kReduce, update_);
    }
    backend.synchronize(Stream::kReduce);
  }
  std::vector<Output> outputs() { return bench_.finish(); }

 private:
  Bench bench_;
  ConstTensor source_;
  Tensor gradients_;
  AdamUpdate update_;
  double* norm_squared_;
};

class Concurrency : public Conformance {};

TEST_P(Concurrency, TwoStreamsFromTwoThreadsGiveWhatEachGivesAlone) {
  ForwardAndBackward compute_alone(backend()), compute(backend());
  NormAndUpdate reduce_alone(backend()), reduce(backend());
  compute_alone.run();
  reduce_alone.run();
  std::thread other([&] { reduce.run(); });
  compute.run();
  other.join();
  EXPECT_TRUE(same_bits(compute.outputs(), compute_alone.outputs()));
  EXPECT_TRUE(same_bits(reduce.outputs(), reduce_alone.outputs()));
}

INSTANTIATE_TEST_SUITE_P(Backends, Concurrency, testing::ValuesIn(tested_backends()),
                         name_of_backend);

}  // namespace
}  // namespace strata::device
