#include "training/dry_run.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text/counts.h"
#include "data/files/sample_classes.h"
#include "data/loading/shared_samples.h"
#include "loadbalance/plans/batch_plan.h"
#include "training/evaluation.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/data.h"
#include "training/factories/doubts.h"
#include "training/factories/model.h"
#include "training/factories/weights.h"
#include "training/ranks/ranks.h"

namespace strata::training {
namespace {

class Checks {
 public:
  Checks(const config::RunConfig& config, const Ranks& ranks) : config_(config), ranks_(ranks) {}

  DryRun run() {
    // All ranks would find the same problems with the configuration, samples and checkpoints.
    if (ranks_.first()) result_.problems = doubts_about(config_, ranks_.size());
    attempt([this] { bert_ = make_bert_config(config_); });
    attempt([this] { backend_ = make_backend(config_, ranks_.local); });
    if (backend_) fact("device: {}, {}", backend_->description(), counted(ranks_.size(), "rank"));
    if (bert_) {
      const bool staged = attempt([this] { check_stages(config_, *bert_, ranks_.size()); });
      attempt([this] { check_vocabulary(config_, *bert_); });
      if (staged) attempt([this] { check_model(); });
      if (attempt([this] { check_data_paths(config_.data); })) check_data(staged);
    }
    const int64_t steps = max_steps(config_);
    check_checkpoints(steps);
    const int64_t batch = global_batch_size(config_, ranks_.size());
    fact("global batch: {}; the run ends after at most {} ({})", counted(batch, "sample"),
         counted(steps, "step"), counted(steps * batch, "sample"));
    fact("evaluation every {}, to masked-LM accuracy {}",
         counted(eval_interval_samples(config_, ranks_.size()), "sample"),
         config_.target.masked_lm_accuracy);
    return std::move(result_);
  }

 private:
  // Returns whether `work` throws nothing; otherwise adds its error to the problems.
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
    fact("memory suffices for micro-batches of {}",
         counted(capacity_of(config_, *bert_).tokens, "token"));
  }

  // Opens the data and reads the first and the last sample.
  std::unique_ptr<data::InstanceSource> open_and_try(
      const std::vector<std::filesystem::path>& paths) const {
    auto source = open_data(paths, config_.data, *bert_);
    data::PackedBatch batch;
    source->read(std::vector<uint32_t>{0, source->size() - 1}, batch);
    return source;
  }

  void check_data(bool dealt_to_ranks) {
    std::unique_ptr<data::InstanceSource> train, eval;
    attempt([&] { train = open_and_try(config_.data.train); });
    attempt([&] { eval = open_and_try(config_.data.eval); });
    if (train) attempt([&] { check_training_data(*train, dealt_to_ranks); });
    int64_t evaluated = 0;
    if (eval) {
      attempt([&] { evaluated = evaluation_samples(config_.data.eval_samples, *eval); });
      if (evaluated > 0)
        fact("evaluation data: {} of {}", count_text(evaluated), counted(eval->size(), "sample"));
    }
    if (ranks_.first() && train && evaluated > 0) {
      attempt([&] { check_nothing_is_shared(*train, *eval, evaluated); });
    }
    if (config_.data.shapes) attempt([&] { check_shapes(train.get()); });
  }

  void check_training_data(const data::InstanceSource& source, bool dealt_to_ranks) {
    fact("training data: {}", counted(source.size(), "sample"));
    if (!dealt_to_ranks) return;
    loadbalance::make_batch_plan(batch_plan_options(config_, ranks_.size(), 0),
                                 histogram_of(source.index().classes()))
        ->next_step();
  }

  static void check_nothing_is_shared(const data::InstanceSource& train,
                                      const data::InstanceSource& eval, int64_t evaluated) {
    const data::SharedSamples found = data::find_shared_samples(train, eval, evaluated);
    if (found.shared == 0) return;
    fail(
        "data.eval: shares {} of {} with data.train ({} compared); the first is sample {} of "
        "data.eval and sample {} of data.train; evaluate on samples that the run does not train on",
        count_text(found.shared), counted(evaluated, "sample"),
        counted(found.compared, "training sample"), found.evaluation, found.train);
  }

  // Checks that data.shapes describes `train`, which may be null.
  void check_shapes(const data::InstanceSource* train) const {
    const data::SampleClasses classes = data::read_sample_classes(*config_.data.shapes);
    if (!train || data::to_text(classes) == data::to_text(train->index().classes())) return;
    fail(
        "data.shapes: {}: was made from other data ({}), not from data.train ({}); make it again "
        "with 'strata data shapes', or set it to none",
        config_.data.shapes->string(), counted(classes.samples(), "sample"),
        counted(train->size(), "sample"));
  }

  // Checks that a checkpoint is due. Checkpoints are taken only after steps whose loss is read.
  void check_checkpoints(int64_t steps) {
    const auto& [every_steps, every_seconds] = config_.checkpoint;
    if (!ranks_.first() || every_steps == 0 || every_seconds > 0) return;
    const int64_t interval = config_.log.loss_interval_steps;
    const int64_t first = (every_steps + interval - 1) / interval * interval;
    if (first < steps) return;
    std::string advice;
    if (interval < steps) {
      advice = "lower the value, or ";
    } else if (steps > 1) {
      advice = fmt::format(
          "lower {}log.loss_interval_steps, {}, because checkpoints follow only steps whose loss "
          "is read, or ",
          every_steps < steps ? "" : "the value and ", interval);
    }
    result_.problems.push_back(
        fmt::format("checkpoint.every_steps: the first checkpoint is due after step {}, but the "
                    "run has {}, so it writes no checkpoint; {}set checkpoint.every_steps to 0",
                    first, counted(steps, "step"), advice));
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
