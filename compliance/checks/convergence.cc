#include "compliance/checks/convergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "compliance/checks/rounds.h"
#include "compliance/language/values/rule_value.h"
#include "mllog/log_value.h"

namespace strata::compliance {
namespace {

// The keys that a record holds anywhere in its text. All have a '_', so one pass over these finds
// them.
struct Mentions {
  explicit Mentions(std::string_view record) {
    for (size_t at = record.find('_'); at != record.npos; at = record.find('_', at + 1)) {
      const std::string_view before = record.substr(0, at), after = record.substr(at + 1);
      batch_size |= before.ends_with("global") && after.starts_with("batch_size");
      benchmark |= before.ends_with("submission") && after.starts_with("benchmark");
      train_samples |= before.ends_with("train") && after.starts_with("samples");
      evaluation |=
          before.ends_with("eval") && (after.starts_with("error") || after.starts_with("accuracy"));
    }
  }

  bool batch_size = false, benchmark = false, train_samples = false, evaluation = false;
};

bool counts_samples(std::string_view benchmark) {
  for (const std::string_view name :
       {"llama2_70b_lora", "flux1", "llama31_405b", "llama31_8b", "gpt_oss_20b", "deepseekv3_671b",
        "qwen35_397b_grpo", "dlrmv4"}) {
    if (benchmark == name) return true;
  }
  return false;
}

// Reads events as the official convergence checker does: it takes an event for a key if the key
// occurs anywhere in its record.
class Reader {
 public:
  Reader(std::string_view ruleset, bool bert_train_samples)
      : step_unit_(ruleset == "3.1.0" ? "step_num" : "samples_count"),
        train_samples_(bert_train_samples) {}

  void read(const mllog::Event& event) {
    const Mentions mentions(event.line);
    if (mentions.batch_size) {
      constexpr double kNone = -1;  // the official tool's value
      result_.batch_size = number(event.value, "global_batch_size");
      if (result_.batch_size == kNone) result_.batch_size.reset();
    }
    if (mentions.benchmark && event.value.starts_with('"')) {
      result_.benchmark = value_from_json(event.value, heap_).text();
      train_samples_ = train_samples_ && result_.benchmark == "bert";
    }
    if (event.key == "quality_target")
      result_.workload.add({.quality_target = mllog::finite_number(event.value)});
    if (event.key == "eval_samples")
      result_.workload.add({.eval_samples = mllog::finite_number(event.value)});
    if (!stopped_ && (event.key == "eval_accuracy" || event.key == "eval_error"))
      note_evaluation_time(event);
    stopped_ = stopped_ || event.key == "run_stop";
    if (train_samples_) {
      if (mentions.train_samples) latest_ = train_samples(event);
    } else if (mentions.evaluation) {
      read_evaluation(event);
    }
    if (event.key == "run_stop") read_stop(event);
  }

  RunConvergence finish() {
    result_.by_train_samples = train_samples_;
    return std::move(result_);
  }

 private:
  double train_samples(const mllog::Event& event) {
    if (event.key != "train_samples") {
      if (const auto count = metadata(event, "train_samples"))
        return to_double(*count, "train_samples");
    }
    return number(event.value, "train_samples");
  }

  void read_evaluation(const mllog::Event& event) {
    if (result_.benchmark == "stable_diffusion") {
      const std::optional<Value> step = metadata(event, step_unit_);
      const std::optional<Value> metric = metadata(event, "metric");
      if (!step || !metric || metric->kind() != Kind::kStr) return;
      image_scores_[to_double(*step, step_unit_)][metric->text()] =
          number(event.value, "eval_accuracy");
      return;
    }
    const bool samples = counts_samples(result_.benchmark);
    const std::optional<Value> count = metadata(event, samples ? "samples_count" : "epoch_num");
    if (!count) {
      throw RuleError(
          fmt::format("an evaluation has no {}", samples ? "samples_count" : "epoch_num"));
    }
    const double epochs = to_double(*count, "epoch_num");
    // Python rounds to three digits, too.
    const bool integer = samples || count->kind() == Kind::kInt;
    latest_ = integer ? epochs : std::strtod(fmt::format("{:.3f}", epochs).c_str(), nullptr);
  }

  // The official tool does not compare these times, so a damaged one is no fault of the log.
  void note_evaluation_time(const mllog::Event& event) {
    const auto count = mllog::find_field(
        event.metadata, counts_samples(result_.benchmark) ? "samples_count" : "epoch_num");
    const auto epochs = count ? mllog::finite_number(*count) : std::nullopt;
    if (!epochs) return;
    EvaluationTimes& evaluated = result_.evaluated;
    if (!evaluated_before_) {
      evaluated.first = *epochs;
    } else {
      evaluated.longest_interval =
          std::max(evaluated.longest_interval, *epochs - *evaluated_before_);
    }
    evaluated_before_ = epochs;
  }

  void read_stop(const mllog::Event& event) {
    const std::optional<Value> status = metadata(event, "status");
    if (!status) throw RuleError("run_stop has no status");
    result_.converged = status->kind() == Kind::kStr && status->text() == "success";
    result_.epochs = kNeverConverged;
    if (!result_.converged) return;
    if (result_.benchmark == "stable_diffusion") {
      latest_.reset();
      for (const auto& [step, scores] : image_scores_) {
        const auto fid = scores.find("FID");
        const auto clip = scores.find("CLIP");
        if (fid == scores.end() || clip == scores.end())
          throw RuleError("an evaluation lacks FID or CLIP");
        if (fid->second > 90.0 || clip->second < 0.15) continue;
        if (!latest_ || step < *latest_) latest_ = step;
      }
    }
    if (!latest_) {
      throw RuleError(
          "run_stop says success, but no earlier event says after how many samples or epochs the "
          "run converged");
    }
    result_.epochs = *latest_;
  }

  double number(std::string_view json, std::string_view what) {
    return to_double(value_from_json(json, heap_), what);
  }

  std::optional<Value> metadata(const mllog::Event& event, std::string_view name) {
    const Value fields = value_from_json(event.metadata, heap_);
    if (fields.kind() != Kind::kDict) return std::nullopt;
    const Value* found = fields.dict().find(name);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }

  std::string_view step_unit_;
  bool train_samples_;
  Heap heap_;
  RunConvergence result_;
  std::optional<double> latest_;
  std::optional<double> evaluated_before_;
  bool stopped_ = false;
  std::map<double, std::map<std::string, double>> image_scores_;
};

}  // namespace

void LoggedWorkload::add(const LoggedWorkload& other) {
  const auto add_number = [this](std::optional<double>& known, std::optional<double> number) {
    contradicts_itself = contradicts_itself || (known && number && *known != *number);
    if (!known) known = number;
  };
  add_number(quality_target, other.quality_target);
  add_number(eval_samples, other.eval_samples);
  contradicts_itself = contradicts_itself || other.contradicts_itself;
}

RunConvergence read_convergence(const mllog::LogReader& log, std::string_view ruleset,
                                bool bert_train_samples) {
  Reader reader(ruleset, bert_train_samples);
  std::string problem;
  try {
    log.visit([&](const mllog::Event& event) {
      if (!event.metadata.empty()) reader.read(event);
      return true;
    });
  } catch (const std::runtime_error& error) {
    problem = fmt::format("{}: {}", log.path().filename().string(), error.what());
  }
  RunConvergence result = reader.finish();
  result.problem = std::move(problem);
  return result;
}

bool says_success(const mllog::LogReader& log) {
  Heap heap;
  size_t stops = 0, successes = 0;
  log.visit([&](const mllog::Event& event) {
    if (event.key != "run_stop") return true;
    ++stops;
    // Round 0.6 has the metadata in the record.
    Value fields = value_from_json(event.metadata.empty() ? event.value : event.metadata, heap);
    if (event.metadata.empty() && fields.kind() == Kind::kDict) {
      const Value* inner = fields.dict().find("metadata");
      fields = inner == nullptr ? Value() : *inner;
    }
    const Value* status = fields.kind() == Kind::kDict ? fields.dict().find("status") : nullptr;
    successes += status != nullptr && status->kind() == Kind::kStr && status->text() == "success";
    return true;
  });
  return stops > 0 && successes == stops;
}

FolderConvergence combine(const std::vector<RunConvergence>& runs) {
  FolderConvergence folder;
  int failed = 0;
  folder.by_train_samples = !runs.empty();
  if (!runs.empty()) folder.evaluated.first = 0;
  for (const RunConvergence& run : runs) {
    folder.by_train_samples = folder.by_train_samples && run.by_train_samples;
    if (!run.problem.empty() && folder.problem.empty()) folder.problem = run.problem;
    folder.epochs.push_back(run.epochs);
    folder.workload.add(run.workload);
    folder.named = folder.named && run.batch_size && !run.benchmark.empty();
    if (run.converged || run.evaluated.first != kNeverConverged)
      folder.evaluated.first = std::max(folder.evaluated.first, run.evaluated.first);
    folder.evaluated.longest_interval =
        std::max(folder.evaluated.longest_interval, run.evaluated.longest_interval);
    failed += run.converged ? 0 : 1;
    if (!folder.batch_size) {
      folder.batch_size = run.batch_size;
    } else if (folder.batch_size != run.batch_size) {
      folder.problem = "Batch sizes in files do not match";
    }
    if (folder.benchmark.empty()) {
      folder.benchmark = run.benchmark;
    } else if (folder.benchmark != run.benchmark) {
      folder.problem = "Benchmark names in files do not match";
    }
  }
  folder.enough = failed <= dropped_runs(folder.benchmark);
  return folder;
}

}  // namespace strata::compliance
