// Training that stops after some steps and is resumed by another model and trainer.
#pragma once

#include <filesystem>

#include "tests/training/small_training.h"
#include "training/checkpoint/checkpoint.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/factories/checks.h"

namespace strata::training {

// Trains `steps` steps like train(), and leaves a checkpoint in `folder`.
inline void train_to_checkpoint(const config::RunConfig& config, device::Backend& backend,
                                comm::Communicator& communicator,
                                const data::InstanceSource& source, uint64_t seed, int steps,
                                const std::filesystem::path& folder,
                                const bert::BertConfig& bert = small_bert()) {
  bert::Model model(bert, backend, capacity_of(source, config.batch.micro_batch),
                    model_options(config, bert, communicator));
  model.set_weights(
      weights_of_stage(model, bert::random_weights(bert::ParameterLayout(bert), seed)));
  Trainer trainer(config, backend, model, communicator, seed);
  trainer.start(source);
  for (int step = 0; step < steps; ++step) trainer.step();
  const TrainingState state = trainer.state();
  CheckpointWriter writer(backend);
  writer.begin(part_path(folder, communicator.rank()),
               {.step = state.step,
                .parameters = state.parameters,
                .plan = state.plan,
                .loss_scale = state.loss_scale,
                .rank = communicator.rank(),
                .ranks = communicator.size(),
                .note = "a note"},
               state);
  trainer.step();  // training during the write must not change the written data
  writer.finish();
  communicator.barrier();
}

// Resumes from `folder` for `steps` steps. The model begins with other weights, so that missing
// data would show.
inline TrainingHistory train_from_checkpoint(const config::RunConfig& config,
                                             device::Backend& backend,
                                             comm::Communicator& communicator,
                                             const data::InstanceSource& source, uint64_t seed,
                                             int steps, const std::filesystem::path& folder,
                                             const bert::BertConfig& bert = small_bert()) {
  bert::Model model(bert, backend, capacity_of(source, config.batch.micro_batch),
                    model_options(config, bert, communicator));
  const bert::HostWeights others =
      weights_of_stage(model, bert::random_weights(bert::ParameterLayout(bert), seed + 1));
  model.set_weights(others);
  Trainer trainer(config, backend, model, communicator, seed);
  warm_up(config, model, others, trainer);
  const auto parts = open_checkpoint(folder);
  check_global_batch(config, communicator.size(), parts.front().header().plan.global_batch());
  restore(parts, trainer.state().arrays, backend);
  const CheckpointHeader& header = parts.front().header();
  trainer.resume_after(header.step, header.plan, header.loss_scale);
  trainer.start(source);
  TrainingHistory history;
  for (int step = 0; step < steps; ++step) history.steps.push_back(trainer.step());
  history.evaluation =
      Evaluator(model, source, 0, config.batch.micro_batch, communicator, trainer.weight_gatherer())
          .evaluate();
  history.weights = trainer.weights();
  return history;
}

// Returns only the last `steps` steps of `whole`.
inline TrainingHistory last_steps(TrainingHistory whole, int steps) {
  whole.steps.erase(whole.steps.begin(), whole.steps.end() - steps);
  return whole;
}

}  // namespace strata::training
