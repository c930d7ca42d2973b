#include "compliance/checks/rounds.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <regex>

#include "base/error.h"
#include "compliance/language/values/rule_value.h"

namespace strata::compliance {
namespace {

using Names = std::vector<std::string_view>;

struct Round {
  std::string_view ruleset;
  // About the time of publication, in ms since the epoch. Runs of the round are not later.
  double last_day_ms;
  Names benchmarks;
};

constexpr double kDay = 86'400'000.0;
// Returns the rounds with their publication days, counted from 1970.
const std::vector<Round>& rounds_of(std::string_view usage) {
  static const Names kFirst = {"bert",   "dlrm", "maskrcnn", "minigo",
                               "resnet", "ssd",  "rnnt",     "unet3d"};
  static const std::vector<Round> kTraining = {
      {"0.6.0",
       18087 * kDay,
       {"resnet", "ssd", "maskrcnn", "gnmt", "transformer", "ncf", "minigo"}},
      {"0.7.0",
       18472 * kDay,
       {"bert", "dlrm", "gnmt", "maskrcnn", "minigo", "resnet", "ssd", "transformer"}},
      {"1.0.0", 18808 * kDay, kFirst},
      {"1.1.0", 18962 * kDay, kFirst},
      {"2.0.0", 19172 * kDay, kFirst},
      {"2.1.0", 19305 * kDay, kFirst},
      {"3.0.0",
       19535 * kDay,
       {"bert", "dlrm_dcnv2", "gpt3", "maskrcnn", "resnet", "ssd", "rnnt", "unet3d"}},
      {"3.1.0",
       19669 * kDay,
       {"bert", "dlrm_dcnv2", "gpt3", "maskrcnn", "resnet", "ssd", "rnnt", "unet3d",
        "stable_diffusion"}},
      {"4.0.0",
       19886 * kDay,
       {"bert", "dlrm_dcnv2", "gpt3", "resnet", "ssd", "unet3d", "stable_diffusion",
        "llama2_70b_lora", "gnn"}},
      {"4.1.0",
       20040 * kDay,
       {"bert", "dlrm_dcnv2", "gpt3", "ssd", "stable_diffusion", "llama2_70b_lora", "gnn"}},
      {"5.0.0",
       20243 * kDay,
       {"bert", "dlrm_dcnv2", "retinanet", "stable_diffusion", "llama2_70b_lora", "rgat",
        "llama31_405b"}},
      {"5.1.0",
       20404 * kDay,
       {"llama31_8b", "dlrm_dcnv2", "retinanet", "flux1", "llama2_70b_lora", "rgat",
        "llama31_405b"}},
      {"6.0.0",
       20620 * kDay,
       {"llama31_8b", "dlrm_dcnv2", "flux1", "llama2_70b_lora", "llama31_405b", "gpt_oss_20b",
        "deepseekv3_671b"}},
      {"6.1.0",
       1e300,
       {"llama31_8b", "flux1", "llama2_70b_lora", "gpt_oss_20b", "deepseekv3_671b",
        "qwen35_397b_grpo", "dlrmv4"}}};
  static const std::vector<Round> kHpc = {
      {"0.7.0", 18583 * kDay, {"cosmoflow", "deepcam"}},
      {"1.0.0", 18946 * kDay, {"cosmoflow", "deepcam", "oc20"}},
      {"2.0.0", 19305 * kDay, {"cosmoflow", "deepcam", "oc20"}},
      {"3.0.0", 1e300, {"cosmoflow", "deepcam", "oc20", "openfold"}}};
  static const std::vector<Round> kNone;
  return usage == "training" ? kTraining : usage == "hpc" ? kHpc : kNone;
}

bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Round* find_round(std::string_view usage, std::string_view ruleset) {
  for (const Round& round : rounds_of(usage)) {
    if (round.ruleset == ruleset) return &round;
  }
  return nullptr;
}

bool is_hpc_benchmark(std::string_view benchmark) {
  return holds(rounds_of("hpc").back().benchmarks, benchmark);
}

// Returns whether a time in ms since the epoch can belong to a run. Some logs have no such time, or
// count from their start.
bool is_date(double ms) { return ms >= 16436 * kDay && ms < 47482 * kDay; }  // 2015 to 2099

// A log's own benchmark and date.
struct Identity {
  std::string benchmark;
  std::optional<double> date_ms;  // the first time that is a date
};

Identity identify(const mllog::LogReader& log) {
  Identity identity;
  log.visit([&](const mllog::Event& event) {
    if (!identity.date_ms && is_date(event.time_ms)) identity.date_ms = event.time_ms;
    if (event.key == "submission_benchmark" && event.value.size() > 2 &&
        event.value.front() == '"') {
      identity.benchmark = std::string(event.value.substr(1, event.value.size() - 2));
      return false;
    }
    return true;
  });
  return identity;
}

std::string date_of(double ms) {
  using namespace std::chrono;
  const year_month_day date = sys_days(days(static_cast<int64_t>(std::floor(ms / kDay))));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace

int result_file_count(std::string_view usage, std::string_view benchmark) {
  static const std::map<std::string_view, int> kTraining = {{"bert", 10},
                                                            {"dlrm", 5},
                                                            {"dlrm_dcnv2", 10},
                                                            {"gnmt", 10},
                                                            {"gpt3", 3},
                                                            {"maskrcnn", 5},
                                                            {"minigo", 10},
                                                            {"resnet", 5},
                                                            {"ssd", 5},
                                                            {"retinanet", 5},
                                                            {"stable_diffusion", 10},
                                                            {"transformer", 10},
                                                            {"ncf", 10},
                                                            {"rnnt", 10},
                                                            {"unet3d", 40},
                                                            {"gnn", 10},
                                                            {"rgat", 10},
                                                            {"llama2_70b_lora", 10},
                                                            {"llama31_405b", 3},
                                                            {"llama31_8b", 10},
                                                            {"flux1", 10},
                                                            {"gpt_oss_20b", 10},
                                                            {"deepseekv3_671b", 3},
                                                            {"qwen35_397b_grpo", 3},
                                                            {"dlrmv4", 10}};
  static const std::map<std::string_view, int> kHpc = {
      {"deepcam", 5}, {"cosmoflow", 10}, {"oc20", 5}, {"openfold", 10}};
  const auto& counts = usage == "hpc" ? kHpc : kTraining;
  const auto found = counts.find(benchmark);
  return found == counts.end() ? 0 : found->second;
}

const std::vector<std::string_view>& round_benchmarks(std::string_view usage,
                                                      std::string_view ruleset) {
  static const Names kNone;
  const Round* round = find_round(usage, ruleset);
  return round == nullptr ? kNone : round->benchmarks;
}

std::vector<std::string_view> known_rulesets(std::string_view usage) {
  Names names;
  for (const Round& round : rounds_of(usage)) names.push_back(round.ruleset);
  return names;
}

std::string full_ruleset(std::string ruleset) {
  static const std::regex kTwoNumbers(R"(\d{1,3}\.\d{1,3})");
  return std::regex_match(ruleset, kTwoNumbers) ? ruleset + ".0" : ruleset;
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto next_number = [](std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(error == std::errc() ? static_cast<size_t>(end - text.data()) : text.size());
    if (text.starts_with('.')) text.remove_prefix(1);
    return number;
  };
  while (!a.empty() || !b.empty()) {
    const int x = next_number(a);
    const int y = next_number(b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

std::string convergence_unit(std::string_view benchmark) {
  for (const std::string_view name :
       {"bert", "llama2_70b_lora", "flux1", "llama31_405b", "llama31_8b", "gpt_oss_20b",
        "deepseekv3_671b", "qwen35_397b_grpo", "dlrmv4", "stable_diffusion"}) {
    if (benchmark == name) return "samples";
  }
  return "epochs";
}

int dropped_runs(std::string_view benchmark) { return benchmark == "unet3d" ? 4 : 1; }

std::string usage_of_benchmark(std::string_view benchmark) {
  for (const std::string_view usage : {"training", "hpc"}) {
    for (const Round& round : rounds_of(usage)) {
      if (holds(round.benchmarks, benchmark)) return std::string(usage);
    }
  }
  return "";
}

std::string logged_benchmark(const mllog::LogReader& log) { return identify(log).benchmark; }

RulesetChoice infer_ruleset_from_path(const std::filesystem::path& path, const std::string& usage) {
  static const std::regex kRound(R"((?:(training|hpc)_results_)?v?(\d)\.(\d)(?:\.0)?)");
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  RulesetChoice choice{usage, "", ""};
  for (const auto& part : error ? path : absolute) {
    std::smatch match;
    const std::string name = part.string();
    if (!std::regex_match(name, match, kRound)) continue;
    const std::string found_usage =
        usage.empty() ? (match[1].matched ? match[1].str() : "training") : usage;
    const std::string ruleset = match[2].str() + "." + match[3].str() + ".0";
    if (find_round(found_usage, ruleset) == nullptr) continue;
    choice = {found_usage, ruleset, fmt::format("folder '{}' in the path", name)};
  }
  return choice;
}

RulesetChoice infer_ruleset(const mllog::LogReader& log, const std::string& usage,
                            const std::string& ruleset) {
  if (!ruleset.empty() && !usage.empty()) return {usage, ruleset, "given"};
  const Identity identity = identify(log);
  const std::string chosen_usage = !usage.empty()                         ? usage
                                   : is_hpc_benchmark(identity.benchmark) ? "hpc"
                                                                          : "training";
  if (!ruleset.empty()) return {chosen_usage, ruleset, "given"};
  if (RulesetChoice choice = infer_ruleset_from_path(log.path(), chosen_usage);
      !choice.ruleset.empty())
    return choice;

  const auto& rounds = rounds_of(chosen_usage);
  // Without a date, takes the latest round that has the benchmark.
  const double when = identity.date_ms.value_or(std::numeric_limits<double>::infinity());
  // The first round with the benchmark that was published after the run, or else the last one.
  const Round* by_benchmark = nullptr;
  for (const Round& round : rounds) {
    if (!holds(round.benchmarks, identity.benchmark)) continue;
    by_benchmark = &round;
    if (when <= round.last_day_ms) break;
  }
  if (by_benchmark != nullptr) {
    return {chosen_usage, std::string(by_benchmark->ruleset),
            identity.date_ms
                ? fmt::format("run of {}, benchmark '{}'", date_of(when), identity.benchmark)
                : fmt::format("last round with benchmark '{}', because the log has no date",
                              identity.benchmark)};
  }
  if (log.event_count() == 0 && log.bad_line_count() == 0) {
    fail("{}: {}, so it is not an MLPerf log", log.path().string(), log.why_no_token());
  }
  if (log.event_count() == 0) {
    fail("{}: no '{}' line could be read, so it is not an MLPerf log", log.path().string(),
         ":::MLLOG");
  }
  if (!identity.date_ms) {
    fail(
        "{}: cannot infer the ruleset: the log has no date and names no benchmark of a known "
        "round; give --ruleset",
        log.path().string());
  }
  const auto by_date = std::find_if(rounds.begin(), rounds.end(),
                                    [&](const Round& round) { return when <= round.last_day_ms; });
  return {chosen_usage, std::string(by_date->ruleset),
          fmt::format("run of {}; the log names no benchmark of a known round", date_of(when))};
}

}  // namespace strata::compliance
