// A model with LayerNorm before its sublayers, on every backend, against PyTorch in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "tests/bert/errors.h"
#include "tests/bert/subject.h"
#include "tests/conformance/backends.h"
#include "tests/support/golden_files.h"

namespace strata::bert {
namespace {

using device::DType;

// From step 2 on, layer 1 of 2 is kept three times in four.
constexpr LayerDrop kDrop{.theta = 0.5, .gamma = 1e9};

// Returns a step that keeps layer 1 if `keeps`, and otherwise one that drops it.
TrainingStep step_that(bool keeps, const data::PackedBatch& batch) {
  TrainingStep step = mean_step(batch);
  while ((layer_scales(kDrop, step.seed, step.step, 2)[1] > 0) != keeps) ++step.step;
  return step;
}

class PreNormModel : public testing::TestWithParam<device::BackendOptions> {
 protected:
  void SetUp() override {
    try {
      backend_ = device::make_tested_backend(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (!backend_->supports(device::Operation::kResidualAddForward, backend_->compute_dtype())) {
      GTEST_SKIP() << "this backend has no pre-LN";
    }
  }

  // Relative error bound of all gradients together, and of the losses.
  double bound() const {
    switch (GetParam().compute_dtype) {
      case DType::kF64:
        return 1e-9;
      case DType::kF32:
        return 1e-5;
      case DType::kF16:
        return 2.5e-3;
      default:
        return 0.02;
    }
  }
  void expect_golden(const std::string& name, const ModelOptions& options,
                     const TrainingStep& step) {
    const Golden golden = Golden::pre_norm(name);
    Subject subject(*backend_, golden.config, golden.batch, options);
    subject.spoil_gradients();
    subject.model.train(golden.batch, step, {});
    const Losses losses = subject.model.take_losses();
    EXPECT_NEAR(losses.masked_lm.mean() / golden.value("masked_loss"), 1, bound());
    EXPECT_NEAR(losses.next_sentence.mean() / golden.value("next_sentence_loss"), 1, bound());
    const std::vector<double> gradients = subject.gradients();
    double difference = 0, squared = 0;
    for (const Parameter& parameter : subject.model.layout().all) {
      const auto result = golden.compare(parameter, gradients.data() + parameter.offset);
      // A bias of all keys does not change the softmax, so its gradient is zero up to rounding.
      EXPECT_LE(result.difference / std::max(result.largest, 1e-2), 2 * bound()) << parameter.name;
      difference += result.squared_difference;
      squared += result.squared;
    }
    EXPECT_LT(std::sqrt(difference / squared), bound());
  }
  std::vector<double> gradients_of(const Golden& golden, const ModelOptions& options,
                                   const TrainingStep& step) {
    Subject subject(*backend_, golden.config, golden.batch, options);
    subject.model.train(golden.batch, step, {});
    return subject.gradients();
  }

  std::unique_ptr<device::Backend> backend_;
};

TEST_P(PreNormModel, LossesAndGradientsMatchPyTorch) {
  expect_golden("plain", {}, mean_step(Golden::pre_norm("plain").batch));
}

TEST_P(PreNormModel, RecomputedActivationsGiveTheSameBits) {
  const Golden golden = Golden::pre_norm("plain");
  BertConfig config = golden.config;
  config.hidden_dropout = config.attention_dropout = 0.1f;
  const auto with = [&](bool recompute) {
    Golden dropping = golden;
    dropping.config = config;
    ModelOptions options;
    options.recompute = recompute;
    return gradients_of(dropping, options, mean_step(golden.batch));
  };
  EXPECT_EQ(with(true), with(false));
}

TEST_P(PreNormModel, AStepThatDropsALayerMatchesPyTorch) {
  const Golden golden = Golden::pre_norm("dropped");
  ModelOptions options;
  options.layer_drop = kDrop;
  expect_golden("scaled", options, step_that(true, golden.batch));
  expect_golden("dropped", options, step_that(false, golden.batch));
}

TEST_P(PreNormModel, ADroppedLayersGradientsAreZero) {
  const Golden golden = Golden::pre_norm("dropped");
  ModelOptions options;
  options.layer_drop = kDrop;
  Subject subject(*backend_, golden.config, golden.batch, options);
  subject.spoil_gradients();
  const TrainingStep step = step_that(false, golden.batch);
  // The second micro-batch adds to the results of the first.
  for (const bool accumulate : {false, true}) {
    TrainingStep next = step;
    next.accumulate = accumulate;
    subject.model.train(golden.batch, next, {});
  }
  const std::vector<double> gradients = subject.gradients();
  const Range dropped = subject.model.layout().group("layer_1");
  for (int64_t i = dropped.begin; i < dropped.end; ++i) {
    ASSERT_EQ(gradients[static_cast<size_t>(i)], 0) << i;
  }
  const Range kept = subject.model.layout().group("layer_0");
  EXPECT_GT(largest({gradients.begin() + kept.begin, gradients.begin() + kept.end}), 0);
}

TEST_P(PreNormModel, WithoutDroppedLayersTheBitsMatchAModelWithoutLayerDrop) {
  const Golden golden = Golden::pre_norm("plain");
  const TrainingStep step = mean_step(golden.batch);
  const auto plain = gradients_of(golden, {}, step);
  ModelOptions options;
  options.layer_drop = {.theta = 0.5, .gamma = 0};  // theta(t) = 1 always
  EXPECT_EQ(gradients_of(golden, options, step), plain);
}

TEST_P(PreNormModel, EvaluationHasAllLayers) {
  const Golden golden = Golden::pre_norm("plain");
  ModelOptions options;
  options.layer_drop = kDrop;
  Subject subject(*backend_, golden.config, golden.batch, options);
  subject.model.train(golden.batch, step_that(false, golden.batch), {});
  subject.model.take_losses();
  subject.model.evaluate(golden.batch);
  EXPECT_NEAR(subject.model.take_evaluation_losses().masked_lm.mean() / golden.value("masked_loss"),
              1, bound());
}

TEST_P(PreNormModel, RefusesUnsupportedOptions) {
  const Golden golden = Golden::pre_norm("plain");
  ModelOptions float8;
  float8.float8 = true;
  expect_error([&] { Subject(*backend_, golden.config, golden.batch, float8); },
               {"set model.norm to post"});
  ModelOptions drop;
  drop.layer_drop = kDrop;
  const Golden post(2);
  expect_error([&] { Subject(*backend_, post.config, post.batch, drop); },
               {"set model.norm to pre"});
}

INSTANTIATE_TEST_SUITE_P(Backends, PreNormModel, testing::ValuesIn(device::tested_backends()),
                         device::name_of_backend);

TEST(PreNormWeights, PreNormAndPostNormModelsRefuseEachOthersWeights) {
  BertConfig config = Golden(2).config;
  const auto expect_refused = [&](Norm norm, const char* file, const char* reason) {
    config.norm = norm;
    expect_error(
        [&] { load_weights(ParameterLayout(config), testing_support::golden_file(file), 0); },
        {file, reason});
  };
  expect_refused(Norm::kPre, "bert/bert_tiny.safetensors", "set model.norm to post");
  expect_refused(Norm::kPost, "pre_norm/weights.safetensors", "set model.norm to pre");
}

TEST(PreNormWeights, AreWrittenAndReadBack) {
  BertConfig config = Golden(2).config;
  config.norm = Norm::kPre;
  const ParameterLayout layout(config);
  const HostWeights weights = golden_pre_norm_weights(layout);
  const TemporaryFile file(".pre_norm.safetensors");
  save_weights(layout, weights, file.path());
  EXPECT_EQ(load_weights(layout, file.path(), 1).values, weights);
}

}  // namespace
}  // namespace strata::bert
