#include "training/bert_system.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/text/counts.h"
#include "training/checkpoint/checkpoint.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/data.h"
#include "training/factories/doubts.h"
#include "training/factories/model.h"
#include "training/factories/weights.h"
#include "training/ranks/ranks.h"
#include "training/warm_up.h"

namespace strata::training {

BertSystem::BertSystem(const config::RunConfig& config, const Ranks& ranks)
    : BertSystem(config, ranks, nullptr) {}

BertSystem::BertSystem(const config::RunConfig& config, const Ranks& ranks,
                       std::unique_ptr<device::Backend> backend)
    : config_(config),
      ranks_(ranks),
      bert_(make_bert_config(config)),
      whole_(bert_),
      backend_(std::move(backend)) {
  check_stages(config, bert_, ranks.size());
  check_vocabulary(config, bert_);
  check_checkpoint_path(config.model);
  if (!backend_) backend_ = make_backend(config, ranks.local);
  check_data_paths(config.data);
  for (const std::string& doubt : doubts_about(config, ranks.size())) {
    if (config.run.division == config::Division::kClosed) fail("{}", doubt);
    if (ranks.first()) print_to_stderr("strata: warning: {}\n", doubt);
  }
  model_ = make_model(config, bert_, *backend_, ranks.communicator);
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
  for (const bert::Parameter& parameter : whole_.all) names.push_back(parameter.name);
  return names;
}

BertSystem::Run::Run(BertSystem& system, uint64_t seed, const harness::RunFiles& files_)
    : files(files_),
      trainer(system.config_, *system.backend_, *system.model_, system.ranks_.communicator, seed),
      trace(system.ranks_.first() ? files.step_trace : std::filesystem::path(), files.resumed),
      tensorboard(system.ranks_.first() ? files.tensorboard : std::filesystem::path(),
                  files.resumed),
      timeline(system.ranks_.communicator),
      checkpoints(*system.backend_) {}

void BertSystem::prepare(uint64_t seed, const harness::RunFiles& files, const harness::Say& say) {
  run_.reset();
  weights_ = {};  // frees memory before new weights take it
  weights_ = make_weights(config_, whole_, seed, say, ranks_.local);
  if (model_->stage().count > 1) weights_ = weights_of_stage(*model_, weights_);
  model_->set_weights(weights_);
  run_.emplace(*this, seed, files);
}

void BertSystem::warm_up(const harness::Say& say) {
  const WarmUp warm = training::warm_up(config_, *model_, weights_, run_->trainer);
  if (warm.tried > 0 || warm.captured > 0) {
    say(fmt::format("warm-up: {} tried, {} captured, {:.1f} s", counted(warm.tried, "micro-batch"),
                    counted(warm.captured, "shape"), warm.seconds));
  }
  if (warm.graphs.graphs > 0) {
    say(fmt::format("graphs: {}, with {} MiB of device memory", warm.graphs.graphs,
                    count_text(warm.graphs.bytes >> 20)));
  }
  if (warm.graphs.free_at_stop) {
    say(fmt::format(
        "graphs: capturing has stopped because only {} MiB of device memory are free; a "
        "smaller batch.micro_batch leaves more",
        count_text(*warm.graphs.free_at_stop >> 20)));
  }
}

// Ranks share the work: each verifies some of the parts.
std::optional<harness::CheckpointFacts> BertSystem::checkpoint_facts(
    const std::filesystem::path& folder, const harness::Say& say) {
  std::optional<CheckpointHeader> header;
  std::string problem;
  try {
    const std::deque<CheckpointFile> parts = open_checkpoint(folder);
    header = parts.front().header();
    for (auto i = static_cast<size_t>(ranks_.rank()); i < parts.size();
         i += static_cast<size_t>(ranks_.size())) {
      parts[i].verify();
    }
  } catch (const std::exception& error) {
    problem = message_of(error);
  }
  if (!problem.empty()) print_to_stderr("rank {}: {}\n", ranks_.rank(), problem);
  if (!all_succeed(problem)) {
    say(fmt::format("{}: the run cannot continue from this checkpoint", folder.string()));
    return std::nullopt;
  }
  check_suits(*header);
  return harness::CheckpointFacts{.step = header->step, .note = header->note};
}

bool BertSystem::all_succeed(const std::string& problem) const {
  int64_t problems = problem.empty() ? 0 : 1;
  ranks_.communicator.all_reduce_sum(std::span(&problems, 1));
  return problems == 0;
}

// Refuses a checkpoint before anything is changed.
void BertSystem::check_suits(const CheckpointHeader& header) const {
  if (const std::string model = bert::to_text(bert_); header.model != model) {
    fail("the checkpoint belongs to another model: {}", bert::differences(model, header.model));
  }
  const bool scaled = config_.model.precision == config::Precision::kFp16;
  if (header.loss_scale.has_value() != scaled) {
    fail(
        "the checkpoint belongs to a run {} model.precision fp16; resume with that run's precision",
        scaled ? "without" : "with");
  }
  check_global_batch(config_, ranks_.size(), header.plan.global_batch());
}

void BertSystem::restore(const std::filesystem::path& folder) {
  const std::deque<CheckpointFile> parts = open_checkpoint(folder);
  const CheckpointHeader& header = parts.front().header();
  training::restore(parts, run_->trainer.state().arrays, *backend_);
  run_->trainer.resume_after(header.step, header.plan, header.loss_scale);
  run_->steps = run_->resumed_after = header.step;
  run_->trace.resume_after(header.step);
  run_->tensorboard.resume_after(header.step);
}

harness::DataFacts BertSystem::start() {
  Run& run = *run_;
  run.train = open_data(config_.data.train, config_.data, bert_);
  run.trainer.start(*run.train);
  run.eval = open_data(config_.data.eval, config_.data, bert_);
  run.evaluator.emplace(*model_, *run.eval, config_.data.eval_samples, config_.batch.micro_batch,
                        ranks_.communicator, run.trainer.weight_gatherer());
  const bool compared = config_.checkpoint.enabled() || run.files.resumed;
  return {.train_samples = run.train->size(),
          .eval_samples = run.evaluator->samples(),
          .checksum = compared ? data_checksum() : 0};
}

// Covers only facts that are known at once: file sizes, and every sample's length and masked
// positions.
uint32_t BertSystem::data_checksum() const {
  uint32_t checksum = 0;
  const auto add = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    checksum = crc32c({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, checksum);
  };
  for (const auto* source : {run_->train.get(), run_->eval.get()}) {
    add(data::to_text(source->index().classes()));
  }
  add(run_->eval->index().lengths());
  for (const std::filesystem::path& path : data_files()) {
    std::error_code folder;
    const auto bytes = std::filesystem::file_size(path, folder);
    if (!folder) add(std::to_string(bytes));
  }
  return checksum;
}

harness::TrainedStep BertSystem::train_step() {
  Run& run = *run_;
  run.trainer.record(run.steps < config_.log.timeline_steps ? &run.timeline : nullptr);
  const StepResult step = run.trainer.step();
  run.steps = step.step;
  run.trace.add(step);
  run.tensorboard.add(step);
  harness::TrainedStep result{.step = step.step, .samples = run.trainer.samples()};
  if (step.losses) result.loss = step.losses->mean_loss();
  if (step.skipped) {
    result.remark = fmt::format(
        "gradients overflow in fp16, so the step is skipped ({} so far); the loss scale is now {}",
        run.trainer.loss_scale()->skipped_steps, run.trainer.loss_scale()->scale);
  }
  return result;
}

double BertSystem::evaluate() {
  const double accuracy =
      run_->evaluator->evaluate(run_->trainer.free_activations()).masked_lm_accuracy();
  run_->tensorboard.add_evaluation(run_->steps, accuracy);
  return accuracy;
}

void BertSystem::begin_checkpoint(const std::filesystem::path& folder, const std::string& note) {
  Run& run = *run_;
  run.checkpoint = folder;
  run.checkpoint_problem.clear();
  try {
    run.trace.flush();
    const TrainingState state = run.trainer.state();
    run.checkpoints.begin(part_path(folder, ranks_.rank()),
                          {.step = state.step,
                           .parameters = state.parameters,
                           .plan = state.plan,
                           .loss_scale = state.loss_scale,
                           .rank = ranks_.rank(),
                           .ranks = ranks_.size(),
                           .model = bert::to_text(bert_),
                           .note = note},
                          state);
  } catch (const std::exception& error) {
    run.checkpoint_problem = message_of(error);
  }
}

bool BertSystem::finish_checkpoint() {
  std::string& problem = run_->checkpoint_problem;
  try {
    run_->checkpoints.finish();
  } catch (const std::exception& error) {
    problem = message_of(error);
  }
  if (!problem.empty()) {
    print_to_stderr("\nstrata: rank {}: the checkpoint is lost: {}\n", ranks_.rank(), problem);
  }
  const bool written = all_succeed(problem);
  if (written && ranks_.first()) warn_of_parts_elsewhere();
  return written;
}

// Warns if rank 0 cannot see another rank's part, because they share no file system.
void BertSystem::warn_of_parts_elsewhere() const {
  for (int other = 0; other < ranks_.size(); ++other) {
    const std::filesystem::path part = part_path(run_->checkpoint, other);
    std::error_code ignored;
    if (std::filesystem::exists(part, ignored)) continue;
    print_to_stderr(
        "\n"
        "strata: warning: {} is written, but rank 0 cannot see it; put run.output where all ranks "
        "reach it, or the run cannot be resumed\n",
        part.string());
    return;
  }
}

void BertSystem::save() {
  Run& run = *run_;
  run.trace.finish();
  run.tensorboard.finish();
  std::string problems;
  const auto attempt = [&](const auto& write) {  // a file that fails does not stop the next one
    try {
      write();
    } catch (const Error& error) {
      problems += fmt::format("{}{}", problems.empty() ? "" : "; ", error.what());
    }
  };
  if (!run.files.checkpoint.empty()) {
    const bert::HostWeights weights = run.trainer.weights();
    attempt([&] {
      if (ranks_.first()) bert::save_weights(whole_, weights, run.files.checkpoint);
    });
  }
  const bool recorded = run.resumed_after < config_.log.timeline_steps;
  if (recorded && !run.files.timeline.empty())
    attempt([&] { run.timeline.write(run.files.timeline); });
  run_.reset();  // stops the loader and the checkpoint writer
  if (!problems.empty()) fail("{}", problems);
}

}  // namespace strata::training
