// A training run small enough for a test: two layers, 45 words, sequences that can be learnt.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "base/files/files.h"
#include "bert/model/model.h"
#include "bert/weights/weights.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "training/evaluation.h"
#include "training/factories/backend.h"
#include "training/factories/model.h"
#include "training/trainer.h"
#include "training/warm_up.h"

namespace strata::training {

inline constexpr int32_t kSmallVocabulary = 45;
inline constexpr int32_t kSmallestWord = 5;

inline bert::BertConfig small_bert(int layers = 2) {
  bert::BertConfig config;
  config.vocab_size = kSmallVocabulary;
  config.hidden_size = 64;
  config.layers = layers;
  config.heads = 2;
  config.intermediate_size = 64;
  config.max_positions = 32;
  return config;
}

inline void write_small_model(const std::filesystem::path& path, int layers = 1) {
  write_file_atomically(path, R"({"vocab_size": 45, "hidden_size": 64,
    "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 32,
    "type_vocab_size": 2, "hidden_act": "gelu", "num_hidden_layers": )" +
                                  std::to_string(layers) + "}");
}

// Every token is the one before plus one, so neighbours reveal masked tokens. Half of the samples
// have up to 16 tokens and half have 17 to 32, so that a stratified batch of an even number of
// samples has as many of each.
inline data::Instances counting_instances(int samples) {
  data::Instances out;
  for (int i = 0; i < samples; ++i) {
    const int32_t length = i % 2 == 0 ? 6 + i % 11 : 17 + i % 16;
    for (int32_t t = 0; t < length; ++t) {
      const int32_t word = kSmallestWord + (i * 7 + t) % (kSmallVocabulary - kSmallestWord);
      if (t % 4 == 1 + i % 3) {
        out.masked_positions.push_back(t);
        out.masked_ids.push_back(word);
      }
      out.tokens.push_back(t % 4 == 1 + i % 3 ? 4 : word);
    }
    out.token_offsets.push_back(out.tokens.size());
    out.masked_offsets.push_back(out.masked_ids.size());
    out.first_lengths.push_back(length / 2);
    out.next_sentence.push_back(static_cast<uint8_t>(i / 2 % 2));
  }
  return out;
}

inline void write_small_data(const std::filesystem::path& path, const data::Instances& instances) {
  data::InstanceFileInfo info;
  info.vocabulary_size = kSmallVocabulary;
  info.max_length = 32;
  info.max_predictions = 8;
  data::write_instances(path, instances, info);
}

// Writes the instances to a file, opens it and unlinks it.
inline std::unique_ptr<data::InstanceSource> open_small(const data::Instances& instances) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("strata.small." + std::to_string(::getpid()) + ".hdf5");
  write_small_data(path, instances);
  auto source = data::open_instances(path, {kSmallVocabulary, 32});
  std::filesystem::remove(path);
  return source;
}

// Writes a file for data.shapes that belongs to this process alone.
inline std::filesystem::path write_small_shapes(const data::InstanceSource& source) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("strata.shapes." + std::to_string(::getpid()));
  write_file_atomically(path, data::to_text(source.index().classes()));
  return path;
}

inline config::RunConfig small_run() {
  config::RunConfig config;
  config.model.precision = config::Precision::kFp32;
  config.device.threads = 1;
  config.batch.micro_batch = 8;
  config.batch.load_balance = {config::BalanceStrategy::kRandom, {16, 32}};
  config.optimizer.lr = 2e-3;
  config.optimizer.epsilon = 1e-2;  // large, so that Adam's updates depend on the size of gradients
  config.lr_schedule.warmup_steps = 4;
  config.lr_schedule.training_steps = 40;
  config.clip = {config::ClipMode::kNone, 1.0};
  config.reduce.bucket_megabytes = 0.05;  // several buckets
  config.initialization.warmup_steps = 0;
  return config;
}

struct TrainingHistory {
  std::vector<StepResult> steps;
  bert::Losses evaluation;  // losses of all data, at the end
  bert::HostWeights weights;
};

// Norms and updates cover the gaps, too. Checks the gaps in this rank's memory.
inline void expect_gaps_between_gradients_to_be_zero(const bert::Model& model) {
  const auto expect_zeros = [&](const device::Arena& arena, const Range& gap, const char* where) {
    for (const device::Arena::Run& run : arena.runs()) {
      const Range both{std::max(gap.begin, run.range.begin), std::min(gap.end, run.range.end)};
      if (both.size() <= 0) continue;
      const device::Tensor zeros = elements_of(arena, both);
      std::vector<std::byte> bytes(zeros.bytes());
      model.backend().copy_to_host(device::Stream::kCompute, bytes.data(), zeros.data,
                                   bytes.size());
      model.backend().synchronize(device::Stream::kCompute);
      EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }))
          << where << " before element " << gap.end;
    }
  };
  int64_t end = 0;
  const auto expect_gap_to = [&](int64_t begin) {
    expect_zeros(model.parameters().gradients(), {end, begin}, "gradients");
    expect_zeros(model.parameters().gradient_sums(), {end, begin}, "sums");
  };
  for (const bert::Parameter& parameter : model.layout().all) {
    expect_gap_to(parameter.offset);
    end = parameter.offset + parameter.size();
  }
  expect_gap_to(model.layout().size);
}

// Trains `bert` for `steps` steps from random weights, with dropout, after the configured warm-up.
// Adds the second and the third step to `timeline`, which may be null.
inline TrainingHistory train(const config::RunConfig& config, device::Backend& backend,
                             comm::Communicator& communicator, const data::InstanceSource& source,
                             uint64_t seed, int steps, Timeline* timeline = nullptr,
                             const bert::BertConfig& bert = small_bert()) {
  bert::Model model(bert, backend, capacity_of(source, config.batch.micro_batch),
                    model_options(config, bert, communicator));
  const bert::HostWeights weights =
      weights_of_stage(model, bert::random_weights(bert::ParameterLayout(model.config()), seed));
  model.set_weights(weights);
  Trainer trainer(config, backend, model, communicator, seed);
  warm_up(config, model, weights, trainer);
  trainer.start(source);
  TrainingHistory history;
  for (int step = 0; step < steps; ++step) {
    trainer.record(step == 1 || step == 2 ? timeline : nullptr);
    history.steps.push_back(trainer.step());
  }
  history.evaluation =
      Evaluator(model, source, 0, config.batch.micro_batch, communicator, trainer.weight_gatherer())
          .evaluate();
  history.weights = trainer.weights();
  expect_gaps_between_gradients_to_be_zero(model);
  return history;
}
// Trains on the configured backend.
inline TrainingHistory train(const config::RunConfig& config, comm::Communicator& communicator,
                             const data::InstanceSource& source, uint64_t seed, int steps) {
  const auto backend = make_backend(config, {communicator.rank(), communicator.size()});
  return train(config, *backend, communicator, source, seed, steps);
}

// Returns the larger difference, or infinity if one is NaN, which std::max() might ignore.
inline double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

// Returns the largest difference of both losses over all steps.
inline double largest_loss_difference(const TrainingHistory& a, const TrainingHistory& b) {
  double largest = 0;
  const auto compare = [&](const device::LossTotals& x, const device::LossTotals& y) {
    EXPECT_EQ(x.count, y.count) << "not the same global batch";
    const double difference = std::abs(x.loss - y.loss) / static_cast<double>(x.count);
    EXPECT_TRUE(std::isfinite(difference));
    largest = std::max(largest, difference);
  };
  EXPECT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    compare(a.steps[i].losses->masked_lm, b.steps[i].losses->masked_lm);
    compare(a.steps[i].losses->next_sentence, b.steps[i].losses->next_sentence);
  }
  return largest;
}

}  // namespace strata::training
