// The model against MLCommons' BERT reference, starting from its checkpoint.
#include "tests/bert/mlperf_reference.h"

#include <gtest/gtest.h>

#include "bert/model/model.h"
#include "bert/weights/weights.h"
#include "tests/conformance/backends.h"

namespace strata::bert {
namespace {

data::PackedBatch batch_of(const nlohmann::json& instances) {
  data::PackedBatch batch;
  batch.cu_seqlens = {0};
  for (const nlohmann::json& instance : instances) {
    const auto first = static_cast<int32_t>(batch.tokens.size());
    int32_t position = 0;
    for (const int32_t token : instance["input_ids"]) {
      batch.tokens.push_back(token);
      batch.positions.push_back(position++);
    }
    for (const int32_t segment : instance["segment_ids"]) batch.segments.push_back(segment);
    for (const int32_t masked : instance["masked_lm_positions"]) {
      batch.masked_positions.push_back(first + masked);
    }
    for (const int32_t id : instance["masked_lm_ids"]) batch.masked_ids.push_back(id);
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.tokens.size()));
    batch.sample_ids.push_back(batch.sample_ids.size());
    batch.next_sentence.push_back(instance["next_sentence_label"]);
  }
  return batch;
}

class MlperfReference : public device::Conformance {};

TEST_P(MlperfReference, LossesAndAccuracyOfItsCheckpointAreTheSame) {
  const nlohmann::json reference = reference_results();
  const data::PackedBatch batch = batch_of(reference["instances"]);
  const ParameterLayout layout(reference_config());
  const LoadedWeights loaded = load_weights(layout, reference_checkpoint(), 0);
  EXPECT_TRUE(loaded.initialised.empty());
  EXPECT_EQ(loaded.unused,
            (std::vector<std::string>{"bert/encoder/layer_0/attention/self/query/kernel/lamb_m",
                                      "global_step"}));
  Model model(reference_config(), backend(), capacity_of(batch));
  model.set_weights(loaded.values);
  model.evaluate(batch);
  const Losses losses = model.take_evaluation_losses();
  const nlohmann::json& expected = reference["evaluation"];
  // The reference computes in f32; binary16 has three digits more than bfloat16.
  const device::DType dtype = GetParam().compute_dtype;
  const bool exact = size_of(dtype) > 2;
  const double bound = exact ? 1e-5 : dtype == device::DType::kF16 ? 1.25e-3 : 1e-2;
  EXPECT_NEAR(losses.masked_lm.mean() / expected["masked_lm_loss"].get<double>(), 1, bound);
  EXPECT_NEAR(losses.next_sentence.mean() / expected["next_sentence_loss"].get<double>(), 1, bound);
  EXPECT_EQ(losses.masked_lm.count, expected["masked_lm_count"]);
  if (!exact) return;  // predictions may be nearly tied
  EXPECT_EQ(losses.masked_lm.correct, expected["masked_lm_correct"]);
  EXPECT_EQ(losses.next_sentence.correct, expected["next_sentence_correct"]);
}

INSTANTIATE_TEST_SUITE_P(Backends, MlperfReference, testing::ValuesIn(device::tested_backends()),
                         device::name_of_backend);

TEST(MlperfReferenceCheckpoint, CanBeNamedByAnyOfItsFiles) {
  const ParameterLayout layout(reference_config());
  const HostWeights expected = load_weights(layout, reference_checkpoint(), 0).values;
  for (const char* ending : {".index", ".data-00000-of-00001"}) {
    EXPECT_EQ(load_weights(layout, reference_checkpoint() + ending, 0).values, expected);
  }
}

}  // namespace
}  // namespace strata::bert
