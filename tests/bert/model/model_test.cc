#include "bert/model/model.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "device/registry/backends.h"
#include "tests/bert/subject.h"
#include "tests/support/deferred_backend.h"

namespace strata::bert {
namespace {

double largest_difference(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return largest(a);
}

// Computes in f64, with dropout.
class Model : public testing::Test {
 protected:
  Model() : golden_(2), backend_(device::make_backend({"reference", device::DType::kF64})) {
    golden_.config.hidden_dropout = 0.2f;
    golden_.config.attention_dropout = 0.3f;
  }

  Subject make_subject() { return Subject(*backend_, golden_.config, golden_.batch); }

  // Runs a step of these micro-batches.
  static void train(Subject& subject, const std::vector<data::PackedBatch>& micro_batches,
                    TrainingStep step) {
    for (const data::PackedBatch& micro_batch : micro_batches) {
      subject.model.train(micro_batch, step, {});
      step.accumulate = true;
    }
  }

  Golden golden_;
  std::unique_ptr<device::Backend> backend_;
};

TEST_F(Model, GradientsAddUpOverMicroBatchesAndDoNotDependOnTheirSplit) {
  Subject whole = make_subject(), parts = make_subject();
  const TrainingStep step = mean_step(golden_.batch);
  whole.model.train(golden_.batch, step, {});
  parts.spoil_gradients();
  train(parts, split(golden_.batch), step);
  const std::vector<double> expected = whole.gradients();
  EXPECT_GT(largest(expected), 0.1);
  EXPECT_LE(largest_difference(parts.gradients(), expected), 1e-12);
  const Losses a = whole.model.take_losses(), b = parts.model.take_losses();
  EXPECT_NEAR(a.masked_lm.loss, b.masked_lm.loss, 1e-12);
  EXPECT_EQ(a.masked_lm.count, b.masked_lm.count);
  EXPECT_EQ(a.next_sentence.count, b.next_sentence.count);
}

// The first micro-batch of a step may have no masked position.
TEST_F(Model, WithoutMaskedPositionsTheMaskedLmGradientsAreZero) {
  std::vector<data::PackedBatch> batches = split(golden_.batch);
  data::PackedBatch& unmasked = batches.front();
  unmasked.masked_positions.clear();
  unmasked.masked_ids.clear();
  const TrainingStep step = mean_step(golden_.batch);
  Subject first = make_subject(), others = make_subject(), all = make_subject();
  first.spoil_gradients();
  train(first, {unmasked}, step);
  train(others, {batches.begin() + 1, batches.end()}, step);
  all.spoil_gradients();
  train(all, batches, step);
  const std::vector<double> of_first = first.gradients();
  const ParameterLayout& layout = first.model.layout();
  for (const Parameter* p :
       {&layout.masked_lm_bias, &layout.transform.weight, &layout.transform.bias,
        &layout.transform_norm.gamma, &layout.transform_norm.beta}) {
    const auto begin = of_first.begin() + p->offset;
    EXPECT_EQ(largest({begin, begin + p->size()}), 0) << p->name;
  }
  std::vector<double> sum = others.gradients();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += of_first[i];
  EXPECT_GT(largest(of_first), 0.01);
  EXPECT_LE(largest_difference(all.gradients(), sum), 1e-12);
}

// Activations of a longer batch, which still lie beyond the end, must not matter.
TEST_F(Model, RoundingABatchUpChangesNeitherLossesNorGradients) {
  const TrainingStep step = mean_step(golden_.batch);
  std::vector<data::PackedBatch> batches = split(golden_.batch);
  batches.insert(batches.begin(), golden_.batch);
  Subject exact = make_subject();
  Subject rounded(*backend_, golden_.config, golden_.batch,
                  {.rounding = {.tokens = 7, .masked = 5, .max_length = 4}});
  train(exact, batches, step);
  train(rounded, batches, step);
  const std::vector<double> expected = exact.gradients();
  EXPECT_GT(largest(expected), 0.1);
  EXPECT_LE(largest_difference(rounded.gradients(), expected), 1e-12);
  const Losses a = exact.model.take_losses(), b = rounded.model.take_losses();
  EXPECT_NEAR(a.masked_lm.loss, b.masked_lm.loss, 1e-12);
  EXPECT_NEAR(a.next_sentence.loss, b.next_sentence.loss, 1e-12);
  EXPECT_EQ(a.masked_lm.count, b.masked_lm.count);
  EXPECT_EQ(a.masked_lm.correct, b.masked_lm.correct);
  EXPECT_EQ(a.next_sentence.count, b.next_sentence.count);
}

TEST_F(Model, SplitWordGradientsCountAsGradientMemory) {
  const auto bytes = [&](WordGradient word_gradient) {
    return Subject(*backend_, golden_.config, golden_.batch, {.word_gradient = word_gradient})
        .model.gradient_bytes();
  };
  const int64_t words = golden_.config.vocab_size * golden_.config.hidden_size;
  const int64_t together = bytes(WordGradient::kTogether);
  EXPECT_GE(together, words * 8);
  EXPECT_EQ(bytes(WordGradient::kSplit) - together, words * 8);
  EXPECT_EQ(bytes(WordGradient::kSplitForGood) - together, words * 8);
}

TEST_F(Model, WeightsOfAnotherModelAreRefused) {
  Subject subject = make_subject();
  const int64_t size = subject.model.layout().size;
  for (const int64_t given : {size - 1, size + 1, int64_t{0}}) {
    EXPECT_THROW(subject.model.set_weights(HostWeights(static_cast<size_t>(given))), Error)
        << given << " for " << size;
  }
}

// If backward is delayed, the heads' module updates the words, too.
TEST_F(Model, OnlyTheWordEmbeddingsAreTied) {
  const Subject subject = make_subject();
  const ParameterLayout& layout = subject.model.layout();
  for (const auto& block : subject.model.blocks()) {
    const Range all = block->gradients(), untied = subject.model.untied(*block);
    for (const Parameter& p : layout.all) {
      if (p.offset < all.begin || p.offset >= all.end) continue;
      const bool is_in = untied.begin <= p.offset && p.offset + p.size() <= untied.end;
      EXPECT_EQ(is_in, p.offset != layout.word_embeddings.offset) << p.name;
    }
    EXPECT_EQ(untied.end, all.end) << block->name();
  }
}

TEST_F(Model, DropoutDependsOnSeedAndStep) {
  Subject subject = make_subject();
  const auto loss_at = [&](uint64_t seed, uint64_t step) {
    TrainingStep settings = mean_step(golden_.batch);
    settings.seed = seed;
    settings.step = step;
    subject.model.upload(golden_.batch);
    subject.model.forward(subject.model.begin(settings));
    return subject.model.take_losses().mean_loss();
  };
  const double loss = loss_at(1, 1);
  EXPECT_EQ(loss_at(1, 1), loss);
  EXPECT_NE(loss_at(1, 2), loss);
  EXPECT_NE(loss_at(2, 1), loss);
}

TEST_F(Model, ABatchMayBeUploadedBeforeTheLastBackwardAndEvaluations) {
  Subject one_by_one = make_subject(), ahead = make_subject();
  TrainingStep step = mean_step(golden_.batch);
  const auto samples = split(golden_.batch);
  ASSERT_GT(samples.size(), 2u);
  train(one_by_one, samples, step);

  DeviceBatch kept(*backend_, capacity_of(samples[0]));
  kept.upload(device::Stream::kCompute, samples[0]);
  ahead.model.upload(samples[0]);
  for (size_t i = 0; i < samples.size(); ++i) {
    step.accumulate = i > 0;
    const MicroBatch micro_batch = ahead.model.begin(step);
    ahead.model.forward(micro_batch);
    if (i + 1 < samples.size()) ahead.model.upload(samples[i + 1]);
    ahead.model.backward(micro_batch, {});
    ahead.model.evaluate(kept);
  }
  EXPECT_EQ(ahead.gradients(), one_by_one.gradients());
  EXPECT_EQ(ahead.model.take_losses().mean_loss(), one_by_one.model.take_losses().mean_loss());
  const Losses evaluated = ahead.model.take_evaluation_losses();
  EXPECT_EQ(evaluated.next_sentence.count, std::ssize(samples));
  EXPECT_EQ(evaluated.masked_lm.count, std::ssize(samples) * std::ssize(samples[0].masked_ids));
}

TEST_F(Model, GradientsOfTwoStepsAreNotAdded) {
  Subject subject = make_subject();
  TrainingStep step = mean_step(golden_.batch);
  step.accumulate = true;
  EXPECT_THROW(subject.model.train(golden_.batch, step, {}), Error);
  subject.model.discard_uploaded();
  train(subject, {golden_.batch, golden_.batch}, mean_step(golden_.batch));
  ++step.step;
  EXPECT_THROW(subject.model.train(golden_.batch, step, {}), Error);
}

TEST_F(Model, ExactlyOneBatchMustBeUploadedAhead) {
  Subject subject = make_subject();
  EXPECT_THROW(subject.model.begin({}), Error);
  subject.model.upload(golden_.batch);
  EXPECT_THROW(subject.model.upload(golden_.batch), Error);
}

// Both micro-batches go through each block before the next block runs.
TEST_F(Model, TwoMicroBatchesMayBeInFlight) {
  Subject one_by_one = make_subject();
  Subject together(*backend_, golden_.config, golden_.batch, {.in_flight = 2});
  TrainingStep step = mean_step(golden_.batch);
  auto samples = split(golden_.batch);
  samples.resize(2);
  train(one_by_one, samples, step);

  bert::Model& model = together.model;
  const Activations* activations[] = {&model.activations(), &model.activations(1)};
  MicroBatch micro_batches[2];
  for (size_t i = 0; i < 2; ++i) {
    step.accumulate = i > 0;
    model.upload(samples[i]);
    micro_batches[i] = model.begin(step);
  }
  const auto& blocks = model.blocks();
  for (const auto& block : blocks) {
    for (size_t i = 0; i < 2; ++i) block->forward(micro_batches[i], *activations[i]);
  }
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    for (size_t i = 0; i < 2; ++i) (*block)->backward(micro_batches[i], *activations[i]);
  }
  const std::vector<double> expected = one_by_one.gradients();
  EXPECT_GT(largest(expected), 0.1);
  EXPECT_LE(largest_difference(together.gradients(), expected), 1e-14) << "sums in another order";
  EXPECT_EQ(model.take_losses().mean_loss(), one_by_one.model.take_losses().mean_loss());
}

// Records the site of every dropout.
class DropoutPlaces : public testing_support::DeferredBackend {
 public:
  using DeferredBackend::DeferredBackend;
  void embeddings_forward(device::Stream s, const device::EmbeddingsForward& op) override {
    forward.push_back(op.dropout.place);
    DeferredBackend::embeddings_forward(s, op);
  }
  void attention_forward(device::Stream s, const device::AttentionForward& op) override {
    forward.push_back(op.dropout.place);
    DeferredBackend::attention_forward(s, op);
  }
  void residual_layernorm_forward(device::Stream s,
                                  const device::ResidualLayerNormForward& op) override {
    if (op.dropout.probability > 0) forward.push_back(op.dropout.place);
    DeferredBackend::residual_layernorm_forward(s, op);
  }
  void embeddings_backward(device::Stream s, const device::EmbeddingsBackward& op) override {
    backward.push_back(op.dropout.place);
    DeferredBackend::embeddings_backward(s, op);
  }
  void attention_backward(device::Stream s, const device::AttentionBackward& op) override {
    backward.push_back(op.dropout.place);
    DeferredBackend::attention_backward(s, op);
  }
  void residual_layernorm_backward(device::Stream s,
                                   const device::ResidualLayerNormBackward& op) override {
    if (op.dropout.probability > 0) backward.push_back(op.dropout.place);
    DeferredBackend::residual_layernorm_backward(s, op);
  }

  std::vector<uint64_t> forward, backward;
};

TEST_F(Model, EverySiteHasItsOwnDropoutMaskInForwardAndBackward) {
  DropoutPlaces device(*backend_, 1);
  Subject subject(device, golden_.config, golden_.batch);
  subject.model.train(golden_.batch, mean_step(golden_.batch), {});
  device.synchronize(device::Stream::kCompute);
  const std::set<uint64_t> places(device.forward.begin(), device.forward.end());
  EXPECT_EQ(std::ssize(places), 1 + 3 * golden_.config.layers) << "embeddings, three a layer";
  EXPECT_EQ(device.forward.size(), places.size());
  EXPECT_EQ(device.backward, std::vector<uint64_t>(device.forward.rbegin(), device.forward.rend()));
}

// The derivative of the loss along the gradient is the gradient's squared norm.
TEST_F(Model, GradientIsTheDerivativeOfTheLossUnderDropout) {
  Subject subject = make_subject();
  const TrainingStep step = mean_step(golden_.batch);
  subject.model.train(golden_.batch, step, {});
  subject.model.take_losses();
  const std::vector<double> gradient = subject.gradients();
  const std::vector<double> weights = subject.download(subject.model.master_weights());
  const auto loss_at = [&](double distance) {
    std::vector<double> moved = weights;
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += distance * gradient[i];
    const device::Tensor master = subject.model.master_weights();
    backend_->copy_to_device(device::Stream::kCompute, master.data, moved.data(), master.bytes());
    subject.model.upload(golden_.batch);
    subject.model.forward(subject.model.begin(step));
    return subject.model.take_losses().mean_loss();
  };
  double norm_squared = 0;
  for (const double value : gradient) norm_squared += value * value;
  constexpr double kDistance = 1e-6;
  EXPECT_NEAR((loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance) / norm_squared, 1, 1e-6);
}

TEST_F(Model, BackwardReportsEveryFinalGradientOnceInOrder) {
  Subject subject = make_subject();
  std::vector<double> reported;
  subject.model.train(golden_.batch, mean_step(golden_.batch), [&](int64_t begin, int64_t end) {
    ASSERT_EQ(begin, static_cast<int64_t>(reported.size()));
    const std::vector<double> now = subject.gradients();
    reported.insert(reported.end(), now.begin() + begin, now.begin() + end);
  });
  EXPECT_EQ(reported, subject.gradients());
}

}  // namespace
}  // namespace strata::bert
