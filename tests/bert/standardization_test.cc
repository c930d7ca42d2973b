// A model without LayerNorm and its standardization loss, on every backend: against PyTorch in f64,
// and by differences of the whole loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/reference/reference_backend.h"
#include "tests/bert/errors.h"
#include "tests/bert/subject.h"
#include "tests/conformance/backends.h"
#include "tests/support/golden_files.h"

namespace strata::bert {
namespace {

using device::DType;
using device::StandardizationAxis;

constexpr double kWeight = Golden::kStandardizationWeight;

const char* name_of(StandardizationAxis axis) {
  return axis == StandardizationAxis::kUnit ? "unit" : "token";
}

ModelOptions options_of(StandardizationAxis axis, double weight = kWeight) {
  ModelOptions options;
  options.standardization = {.weight = weight, .axis = axis};
  return options;
}

BertConfig with_dropout(BertConfig config) {
  config.hidden_dropout = config.attention_dropout = 0.1f;
  return config;
}

class StandardizedModel : public testing::TestWithParam<device::BackendOptions> {
 protected:
  void SetUp() override {
    try {
      backend_ = device::make_tested_backend(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Relative error bound of all gradients together, and of the losses.
  double bound() const {
    switch (GetParam().compute_dtype) {
      case DType::kF64:
        return 1e-9;
      case DType::kF32:
        return 1e-5;
      default:
        return 0.02;
    }
  }

  struct Trained {
    Losses losses;
    std::vector<double> gradients;
  };
  Trained train(const BertConfig& config, const data::PackedBatch& batch,
                const ModelOptions& options, const TrainingStep& step) {
    Subject subject(*backend_, config, batch, options);
    subject.spoil_gradients();
    subject.model.train(batch, step, {});
    return {subject.model.take_losses(), subject.gradients()};
  }

  // Relative difference of all gradients together.
  static double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double difference = 0, squared = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      squared += b[i] * b[i];
    }
    return std::sqrt(difference / squared);
  }

  std::unique_ptr<device::Backend> backend_;
};

TEST_P(StandardizedModel, LossesAndGradientsMatchPyTorch) {
  for (const auto axis : {StandardizationAxis::kUnit, StandardizationAxis::kToken}) {
    SCOPED_TRACE(name_of(axis));
    const Golden golden = Golden::standardized(name_of(axis));
    const auto [losses, gradients] =
        train(golden.config, golden.batch, options_of(axis), mean_step(golden.batch));
    EXPECT_NEAR(losses.masked_lm.mean() / golden.value("masked_loss"), 1, bound());
    EXPECT_NEAR(losses.next_sentence.mean() / golden.value("next_sentence_loss"), 1, bound());
    EXPECT_NEAR(losses.standardization.loss / golden.value("standardization_loss"), 1, bound());
    // The embeddings, two places per layer, and the masked-LM head's place.
    EXPECT_EQ(losses.standardization.count,
              std::ssize(golden.batch.tokens) * 5 + std::ssize(golden.batch.masked_ids));
    double difference = 0, squared = 0;
    for (const Parameter& parameter : ParameterLayout(golden.config).all) {
      const auto result = golden.compare(parameter, gradients.data() + parameter.offset);
      // A bias of all keys does not change the softmax, so its gradient is zero up to rounding.
      EXPECT_LE(result.difference / std::max(result.largest, 1e-2), 2 * bound()) << parameter.name;
      difference += result.squared_difference;
      squared += result.squared;
    }
    EXPECT_LT(std::sqrt(difference / squared), bound());
  }
}

TEST_P(StandardizedModel, RecomputedActivationsGiveTheSameBitsAndCountTheLossOnce) {
  const Golden golden = Golden::standardized("unit");
  const BertConfig config = with_dropout(golden.config);
  ModelOptions options = options_of(StandardizationAxis::kUnit);
  const Trained kept = train(config, golden.batch, options, mean_step(golden.batch));
  options.recompute = true;
  const Trained recomputed = train(config, golden.batch, options, mean_step(golden.batch));
  EXPECT_EQ(recomputed.gradients, kept.gradients);
  EXPECT_EQ(recomputed.losses.standardization.loss, kept.losses.standardization.loss);
  EXPECT_EQ(recomputed.losses.standardization.count, kept.losses.standardization.count);
}

TEST_P(StandardizedModel, PaddingDoesNotCount) {
  const Golden golden = Golden::standardized("unit");
  for (const auto axis : {StandardizationAxis::kUnit, StandardizationAxis::kToken}) {
    SCOPED_TRACE(name_of(axis));
    ModelOptions options = options_of(axis);
    const Trained bare = train(golden.config, golden.batch, options, mean_step(golden.batch));
    options.rounding = {.tokens = 16, .masked = 6, .max_length = 8};
    ASSERT_NE(std::ssize(golden.batch.tokens) % 16, 0);
    ASSERT_NE(std::ssize(golden.batch.masked_ids) % 6, 0);
    const Trained padded = train(golden.config, golden.batch, options, mean_step(golden.batch));
    EXPECT_EQ(padded.losses.standardization.count, bare.losses.standardization.count);
    EXPECT_NEAR(padded.losses.standardization.loss / bare.losses.standardization.loss, 1, 1e-6);
    EXPECT_LT(relative_difference(padded.gradients, bare.gradients), bound());
  }
}

TEST_P(StandardizedModel, AWeightOfZeroTurnsTheLossOff) {
  const Golden golden = Golden::standardized("unit");
  const TrainingStep step = mean_step(golden.batch);
  const Trained none = train(golden.config, golden.batch, {}, step);
  const Trained off =
      train(golden.config, golden.batch, options_of(StandardizationAxis::kToken, 0), step);
  EXPECT_EQ(off.gradients, none.gradients);
  EXPECT_EQ(off.losses.standardization.count, 0);
  const Trained on =
      train(golden.config, golden.batch, options_of(StandardizationAxis::kUnit), step);
  EXPECT_EQ(on.losses.masked_lm.loss, none.losses.masked_lm.loss) << "the task's is as it was";
  EXPECT_GT(relative_difference(on.gradients, none.gradients), 0.01);
}

TEST_P(StandardizedModel, EvaluationHasNoStandardizationLoss) {
  const Golden golden = Golden::standardized("unit");
  Subject subject(*backend_, golden.config, golden.batch, options_of(StandardizationAxis::kUnit));
  subject.model.evaluate(golden.batch);
  const Losses losses = subject.model.take_evaluation_losses();
  EXPECT_NEAR(losses.masked_lm.mean() / golden.value("masked_loss"), 1, bound());
  EXPECT_EQ(losses.standardization.count, 0);
  EXPECT_EQ(subject.model.take_losses().standardization.count, 0);
}

// The encoder's FP8 operands have errors of up to 2^-4, gradients of 2^-3.
TEST_P(StandardizedModel, InFloat8ErrorsStayWithinTheRounding) {
  if (!backend_->supports(device::Operation::kRoundToFloat8, device::DType::kE4M3)) {
    GTEST_SKIP() << "this device has no FP8";
  }
  const Golden golden = Golden::standardized("unit");
  ModelOptions options = options_of(StandardizationAxis::kUnit);
  options.rounding = {.tokens = 16, .masked = 4, .max_length = 8};
  options.float8 = true;
  Subject subject(*backend_, golden.config, golden.batch, options);
  TrainingStep step = mean_step(golden.batch);
  for (int i = 0; i < 2; ++i, ++step.step) subject.model.train(golden.batch, step, {});
  options.float8 = false;
  const Trained exact = train(golden.config, golden.batch, options, mean_step(golden.batch));
  const double difference = relative_difference(subject.gradients(), exact.gradients);
  EXPECT_LE(difference, 0.15);
  EXPECT_GE(difference, 0.01) << "nothing was rounded";
}

INSTANTIATE_TEST_SUITE_P(Backends, StandardizedModel, testing::ValuesIn(device::tested_backends()),
                         device::name_of_backend);

// Derivative of the whole loss along a direction in all parameters, over two micro-batches with
// dropout. Weights are f32, so the step length is computed from their actual change.
class WholeLoss : public testing::TestWithParam<StandardizationAxis> {
 protected:
  double loss_of(const HostWeights& weights) {
    subject_.model.set_weights(weights);
    train();
    const Losses losses = subject_.model.take_losses();
    return step_.masked_lm_scale * losses.masked_lm.loss +
           step_.next_sentence_scale * losses.next_sentence.loss +
           kWeight * step_.token_scale * losses.standardization.loss;
  }
  void train() {
    bool accumulate = false;
    for (const data::PackedBatch& sample : split(golden_.batch)) {
      TrainingStep step = step_;
      step.accumulate = accumulate;
      subject_.model.train(sample, step, {});
      accumulate = true;
    }
  }

  Golden golden_ = Golden::standardized("unit");
  std::unique_ptr<device::Backend> backend_ = device::make_reference_backend();
  Subject subject_{*backend_, with_dropout(golden_.config), golden_.batch, options_of(GetParam())};
  TrainingStep step_ = [this] {
    TrainingStep step = mean_step(golden_.batch);
    step.token_scale = step.masked_lm_scale;  // so that losses of all places can be added
    return step;
  }();
};

TEST_P(WholeLoss, GradientIsItsDerivative) {
  const HostWeights weights = golden_affine_weights(golden_.config);
  loss_of(weights);
  const std::vector<double> gradient = subject_.gradients();
  double largest = 0;
  std::vector<std::pair<double, double>> derivatives;
  for (const Parameter& parameter : subject_.model.layout().all) {
    HostWeights above = weights, below = weights;
    double predicted = 0;
    for (int64_t i = parameter.offset; i < parameter.offset + parameter.size(); ++i) {
      const auto place = static_cast<size_t>(i);
      const float move = (i * 37 + 11) % 3 == 0 ? 0x1p-13f : -0x1p-13f;
      above[place] += move;
      below[place] -= move;
      predicted += gradient[place] * (double{above[place]} - double{below[place]});
    }
    const double actual = loss_of(above) - loss_of(below);
    largest = std::max(largest, std::abs(predicted));
    derivatives.emplace_back(predicted, actual);
  }
  size_t i = 0;
  for (const Parameter& parameter : subject_.model.layout().all) {
    const auto [predicted, actual] = derivatives[i++];
    EXPECT_NEAR(actual, predicted, 1e-5 * largest + 1e-3 * std::abs(predicted)) << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Axes, WholeLoss,
                         testing::Values(StandardizationAxis::kUnit, StandardizationAxis::kToken),
                         [](const auto& test) { return name_of(test.param); });

TEST(Standardization, IsRefusedForAModelWithLayerNorm) {
  const auto backend = device::make_reference_backend();
  const Golden golden(2);
  expect_error(
      [&] {
        Subject(*backend, golden.config, golden.batch, options_of(StandardizationAxis::kUnit));
      },
      {"set model.norm to none"});
}

TEST(AffineWeights, ModelsWithAndWithoutLayerNormRefuseEachOthersWeights) {
  BertConfig config = Golden(2).config;
  const TemporaryFile affine(".affine.safetensors");
  config.norm = Norm::kNone;
  save_weights(ParameterLayout(config), golden_affine_weights(config), affine.path());
  const auto expect_refused = [&](Norm norm, const std::filesystem::path& file,
                                  const char* reason) {
    config.norm = norm;
    expect_error([&] { load_weights(ParameterLayout(config), file, 0); },
                 {file.filename().string(), reason});
  };
  using testing_support::golden_file;
  expect_refused(Norm::kNone, golden_file("bert/bert_tiny.safetensors"), "set model.norm to post");
  expect_refused(Norm::kNone, golden_file("pre_norm/weights.safetensors"), "set model.norm to pre");
  expect_refused(Norm::kPost, affine.path(), "set model.norm to none");
  expect_refused(Norm::kPre, affine.path(), "set model.norm to none");
}

TEST(AffineWeights, AreWrittenAndReadBack) {
  BertConfig config = Golden(2).config;
  config.norm = Norm::kNone;
  const HostWeights weights = golden_affine_weights(config);
  const TemporaryFile file(".affine.safetensors");
  save_weights(ParameterLayout(config), weights, file.path());
  EXPECT_EQ(load_weights(ParameterLayout(config), file.path(), 1).values, weights);
}

}  // namespace
}  // namespace strata::bert
