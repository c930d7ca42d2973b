// Compares training with MLCommons' program, which took the same steps of LAMB, each on all
// samples, from the same checkpoint (tests/golden/reference/mlperf_reference.py). It computes in
// f32.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "bert/weights/weights.h"
#include "comm/communicator.h"
#include "data/files/instance_file.h"
#include "tests/bert/mlperf_reference.h"
#include "tests/training/small_training.h"
#include "training/trainer.h"

namespace strata::training {

// Expects the reference's losses in at most `steps` first steps.
inline void expect_to_follow_mlperfs_reference(device::Backend& backend,
                                               comm::Communicator& communicator, size_t steps,
                                               config::Sharding sharded = {}) {
  const nlohmann::json golden = bert::reference_results().at("training");
  const bert::BertConfig bert = bert::reference_config();
  const auto source =
      data::open_instances(testing_support::golden_file("reference/mlperf_reference.tfrecord"),
                           {.vocabulary_size = static_cast<int32_t>(bert.vocab_size),
                            .max_length = static_cast<int32_t>(bert.max_positions)});
  config::RunConfig config = small_run();
  config.batch.micro_batch = static_cast<int>(source->size()) / communicator.size();
  config.optimizer = {.name = config::OptimizerKind::kLamb,
                      .lr = golden.at("rate"),
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-6,
                      .weight_decay = 0.01,
                      .sharded = sharded};
  config.lr_schedule.name = config::LrScheduleKind::kPolynomialDecay;
  config.lr_schedule.warmup_steps = golden.at("warmup_steps");
  config.lr_schedule.training_steps = golden.at("steps");
  config.lr_schedule.end_lr = 0;
  config.clip = {config::ClipMode::kAfterAllReduce, 1.0};
  bert::Model model(bert, backend, capacity_of(*source, config.batch.micro_batch));
  model.set_weights(bert::load_weights(model.layout(), bert::reference_checkpoint(), 0).values);
  Trainer trainer(config, backend, model, communicator, 1);
  trainer.start(*source);
  for (size_t i = 0; i < std::min(steps, golden.at("losses").size()); ++i) {
    const nlohmann::json& expected = golden.at("losses")[i];
    const StepResult step = trainer.step();
    ASSERT_TRUE(step.losses);
    EXPECT_NEAR(step.losses->masked_lm.mean(), expected[0], 5e-5) << "step " << step.step;
    EXPECT_NEAR(step.losses->next_sentence.mean(), expected[1], 5e-5) << "step " << step.step;
  }
}

}  // namespace strata::training
