#include "training/bert_system.h"

#include <fmt/format.h>

#include "training/warm_up.h"

namespace strata::training {

BertSystem::BertSystem(const config::RunConfig& config, const Ranks& ranks)
    : config_(config), ranks_(ranks), bert_(make_bert_config(config)) {
  check_vocabulary(config, bert_);
  backend_ = make_backend(config, ranks.local);
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
      trace(system.ranks_.first() ? files.step_trace : std::filesystem::path()),
      timeline(system.ranks_.communicator) {}

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

void BertSystem::save() {
  Run& run = *run_;
  run.trace.finish();
  if (!run.files.timeline.empty()) run.timeline.write(run.files.timeline);
  if (!run.files.checkpoint.empty()) {
    run.trainer.gather_weights();
    if (ranks_.first()) {
      bert::save_weights(model_->layout(), model_->weights(), run.files.checkpoint);
    }
  }
  run_.reset();  // its loader reads no more
}

}  // namespace strata::training
