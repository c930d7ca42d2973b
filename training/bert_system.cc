#include "training/bert_system.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "training/checkpoint/checkpoint.h"
#include "training/warm_up.h"

namespace strata::training {

BertSystem::BertSystem(const config::RunConfig& config, const Ranks& ranks)
    : BertSystem(config, ranks, nullptr) {}

BertSystem::BertSystem(const config::RunConfig& config, const Ranks& ranks,
                       std::unique_ptr<device::Backend> backend)
    : config_(config), ranks_(ranks), bert_(make_bert_config(config)), backend_(std::move(backend)) {
  check_vocabulary(config, bert_);
  if (!backend_) backend_ = make_backend(config, ranks.local);
  check_data_paths(config.data);
  model_ = make_model(config, bert_, *backend_);
}

harness::SystemFacts BertSystem::system_facts() const {
  harness::SystemFacts facts{.nodes = ranks_.size() / ranks_.local.count,
                             .ranks = ranks_.size(),
                             .device = backend_->description(),
                             .libraries = backend_->library_versions()};
  for (const auto& library : ranks_.communicator.library_versions()) {
    facts.libraries.push_back(library);
  }
  if (const auto accelerator = backend_->accelerator()) {
    facts.accelerator = {accelerator->name, accelerator->memory_bytes};
  }
  return facts;
}

std::vector<std::filesystem::path> BertSystem::data_files() const {
  std::vector<std::filesystem::path> files;
  for (const auto* paths : {&config_.data.train, &config_.data.eval}) {
    files.insert(files.end(), paths->begin(), paths->end());
    const std::filesystem::path index = data::index_path(paths->front());
    if (std::filesystem::exists(index)) files.push_back(index);
  }
  return files;
}

std::vector<std::string> BertSystem::tensors() const {
  std::vector<std::string> names;
  for (const bert::Parameter& parameter : model_->layout().all) names.push_back(parameter.name);
  return names;
}

BertSystem::Run::Run(BertSystem& system, uint64_t seed, const harness::RunFiles& files_)
    : files(files_),
      trainer(system.config_, *system.backend_, *system.model_, system.ranks_.communicator, seed),
      trace(system.ranks_.first() ? files.step_trace : std::filesystem::path(), files.resumed),
      timeline(system.ranks_.communicator),
      checkpoints(*system.backend_) {}

void BertSystem::prepare(uint64_t seed, const harness::RunFiles& files, const harness::Say& say) {
  run_.reset();
  weights_ = {};  // before there are new ones
  weights_ = make_weights(config_, model_->layout(), seed, say);
  model_->set_weights(weights_);
  run_.emplace(*this, seed, files);
}

void BertSystem::warm_up(const harness::Say& say) {
  const WarmUp warm =
      training::warm_up(config_, *model_, weights_, run_->trainer, ranks_.communicator);
  if (warm.tried > 0 || warm.captured > 0) {
    say(fmt::format("warm-up: {} micro-batches tried, {} shapes captured, {:.1f} s", warm.tried,
                    warm.captured, warm.seconds));
  }
}

// Ranks share the work of reading every byte.
std::optional<std::string> BertSystem::checkpoint_note(const std::filesystem::path& folder,
                                                       const harness::Say& say) {
  std::string note, problem;
  try {
    const std::deque<CheckpointFile> parts = open_checkpoint(folder);
    note = parts.front().header().note;
    for (size_t i = static_cast<size_t>(rank()); i < parts.size();
         i += static_cast<size_t>(ranks())) {
      parts[i].verify();
    }
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty()) fmt::print(stderr, "rank {}: {}\n", rank(), problem);
  if (sum(problem.empty() ? 0 : 1) > 0) {
    say(fmt::format("{}: cannot be gone on from", folder.string()));
    return std::nullopt;
  }
  return note;
}

void BertSystem::restore(const std::filesystem::path& folder) {
  const std::deque<CheckpointFile> parts = open_checkpoint(folder);
  const CheckpointHeader& header = parts.front().header();
  const TrainingState state = run_->trainer.state();
  if (header.parameters != state.parameters) {
    fail("{}: is of a model of {} parameters, this one has {}", folder.string(), header.parameters,
         state.parameters);
  }
  training::restore(parts, state.arrays, *backend_);
  run_->trainer.resume_after(header.step, header.plan);
  run_->steps = run_->resumed_after = header.step;
  run_->trace.resume_after(header.step);
}

harness::DataFacts BertSystem::start() {
  Run& run = *run_;
  run.train = open_data(config_.data.train, config_.data, bert_);
  run.trainer.start(*run.train);
  run.eval = open_data(config_.data.eval, config_.data, bert_);
  run.evaluator.emplace(*model_, *run.eval, config_.data.eval_samples, config_.batch.micro_batch,
                        ranks_.communicator);
  return {.train_samples = run.train->size(), .eval_samples = run.evaluator->samples()};
}

harness::TrainedStep BertSystem::train_step() {
  Run& run = *run_;
  run.trainer.record(run.steps < config_.log.timeline_steps ? &run.timeline : nullptr);
  const StepResult step = run.trainer.step();
  run.steps = step.step;
  run.trace.add(step);
  harness::TrainedStep result{.step = step.step, .samples = run.trainer.samples()};
  if (step.losses) result.loss = step.losses->mean_loss();
  return result;
}

double BertSystem::evaluate() { return run_->evaluator->evaluate().masked_lm_accuracy(); }

void BertSystem::begin_checkpoint(const std::filesystem::path& folder, const std::string& note) {
  run_->trace.flush();
  const TrainingState state = run_->trainer.state();
  run_->checkpoints.begin(part_path(folder, rank()),
                          {.step = state.step,
                           .parameters = state.parameters,
                           .plan = state.plan,
                           .rank = rank(),
                           .ranks = ranks(),
                           .note = note},
                          state);
}

bool BertSystem::finish_checkpoint() {
  bool written = true;
  try {
    run_->checkpoints.finish();
  } catch (const Error& error) {
    fmt::print(stderr, "\nstrata: rank {}: the checkpoint is lost: {}\n", rank(), error.what());
    written = false;
  }
  return sum(written ? 0 : 1) == 0;
}

void BertSystem::save() {
  Run& run = *run_;
  run.trace.finish();
  const bool recorded = run.resumed_after < config_.log.timeline_steps;
  if (recorded && !run.files.timeline.empty()) run.timeline.write(run.files.timeline);
  if (!run.files.checkpoint.empty()) {
    run.trainer.gather_weights();
    if (ranks_.first()) {
      bert::save_weights(model_->layout(), model_->weights(), run.files.checkpoint);
    }
  }
  run_.reset();  // its loader reads no more
}

}  // namespace strata::training
