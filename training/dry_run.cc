#include "training/dry_run.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "data/files/sample_classes.h"
#include "loadbalance/plans/batch_plan.h"
#include "training/evaluation.h"
#include "training/options.h"

namespace strata::training {
namespace {

class Checks {
 public:
  Checks(const config::RunConfig& config, const Ranks& ranks) : config_(config), ranks_(ranks) {}

  DryRun run() {
    attempt([this] { bert_ = make_bert_config(config_); });
    attempt([this] { backend_ = make_backend(config_, ranks_.local); });
    if (backend_)
      fact("device: {}, {} rank{}", backend_->description(), ranks_.size(),
           ranks_.size() == 1 ? "" : "s");
    if (bert_) {
      const bool staged = attempt([this] { check_stages(config_, *bert_, ranks_.size()); });
      attempt([this] { check_vocabulary(config_, *bert_); });
      if (staged) attempt([this] { check_model(); });
      attempt([this, staged] { check_training_data(staged); });
      attempt([this] { check_evaluation_data(); });
    }
    if (config_.data.shapes) attempt([this] { data::read_sample_classes(*config_.data.shapes); });
    const int64_t steps = max_steps(config_);
    fact("global batch: {} samples; at most {} steps, {} samples",
         global_batch_size(config_, ranks_.size()), steps,
         steps * global_batch_size(config_, ranks_.size()));
    fact("evaluation every {} samples, to masked-LM accuracy {}",
         eval_interval_samples(config_, ranks_.size()), config_.target.masked_lm_accuracy);
    return std::move(result_);
  }

 private:
  // Whether nothing speaks against it.
  template <typename Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      result_.problems.push_back(message_of(error));
      return false;
    }
  }
  template <typename... Values>
  void fact(fmt::format_string<Values...> text, Values&&... values) {
    result_.facts.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void check_model() {
    const bert::ParameterLayout layout(*bert_);
    fact("model: {:.1f} million parameters", static_cast<double>(layout.size) / 1e6);
    const auto describe = [this](const std::string& line) { result_.facts.push_back(line); };
    make_weights(config_, layout, 0, describe, ranks_.local);
    if (!backend_) return;
    make_model(config_, *bert_, *backend_, ranks_.communicator);
    fact("memory is there for micro-batches of {} tokens", capacity_of(config_, *bert_).tokens);
  }

  // With its first sample and its last.
  std::unique_ptr<data::InstanceSource> open_and_try(
      const std::vector<std::filesystem::path>& paths) const {
    auto source = open_data(paths, config_.data, *bert_);
    data::PackedBatch batch;
    source->read(std::vector<uint32_t>{0, source->size() - 1}, batch);
    return source;
  }

  void check_training_data(bool dealt_to_ranks) {
    const auto source = open_and_try(config_.data.train);
    fact("training data: {} samples", source->size());
    if (!dealt_to_ranks) return;
    loadbalance::make_batch_plan(plan_options(config_, ranks_.size(), 0),
                                 histogram_of(source->index().classes()))
        ->next_step();
  }

  void check_evaluation_data() {
    const auto source = open_and_try(config_.data.eval);
    fact("evaluation data: {} of {} samples",
         evaluation_samples(config_.data.eval_samples, *source), source->size());
  }

  const config::RunConfig& config_;
  const Ranks& ranks_;
  std::optional<bert::BertConfig> bert_;
  std::unique_ptr<device::Backend> backend_;
  DryRun result_;
};

}  // namespace

DryRun dry_run(const config::RunConfig& config, const Ranks& ranks) {
  return Checks(config, ranks).run();
}

}  // namespace strata::training
