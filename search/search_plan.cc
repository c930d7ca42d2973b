#include "search/search_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/files/files.h"
#include "config/config_value.h"
#include "config/yaml_document.h"
#include "search/trial.h"

namespace strata::search {
namespace {

using config::ConfigValue;

constexpr int64_t kMostTrials = 10000, kMostSamples = 1'000'000'000'000,
                  kLargestSeed = 1'000'000'000, kMostSeeds = 1000;
constexpr size_t kMostDimensions = 100;

// The keys that the search sets in every run.
constexpr const char* kOwnKeys[] = {"run.output",
                                    "run.seed",
                                    "run.experiments",
                                    "target.max_steps",
                                    "target.eval_interval_samples",
                                    "target.start_eval_at_sample"};

// Returns "FILE:LINE" of a node in the file of `whole`.
std::string source_at(const ConfigValue& whole, const YAML::Node& node) {
  const std::string file = whole.source.substr(0, whole.source.rfind(':'));
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

// Calls read(value) for every key of a map. Each key must be one of `known`, and may occur once.
void for_each_key(const ConfigValue& map, std::initializer_list<const char*> known,
                  const std::function<void(const std::string& key, const ConfigValue&)>& read) {
  if (!map.node.IsMap()) map.reject("a section of 'key: value' lines");
  std::set<std::string> seen;
  for (const auto& entry : map.node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    ConfigValue value = map;
    value.node.reset(entry.second);
    value.key = map.key.empty() ? key : map.key + "." + key;
    value.source = source_at(map, entry.first);
    if (std::ranges::find(known, key) == known.end()) {
      fail("{}: {}: unknown key; one of {} is expected", value.source, value.key,
           fmt::join(known.begin(), known.end(), ", "));
    }
    if (!seen.insert(key).second) {
      fail("{}: {}: is given twice; keep one", value.source, value.key);
    }
    read(key, value);
  }
}

int64_t integer_from(const ConfigValue& value, int64_t low, int64_t high) {
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  const int64_t integer = value.integer(expected);
  if (integer < low || integer > high) value.reject(expected);
  return integer;
}

std::string yaml_of(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter.SetSeqFormat(YAML::Flow);
  emitter.SetMapFormat(YAML::Flow);
  emitter << node;
  return emitter.c_str();
}

void refuse_own_key(const std::string& key, const ConfigValue& at) {
  if (std::ranges::find(kOwnKeys, key) == std::end(kOwnKeys)) return;
  fail("{}: {}: {} is set by the search itself; remove it", at.source, at.key, key);
}

Settings read_settings(const ConfigValue& map) {
  if (!map.node.IsMap()) map.reject("a map of keys and values");
  Settings settings;
  for (const auto& entry : map.node) {
    if (!entry.first.IsScalar()) map.reject("a map of keys and values");
    const std::string key = entry.first.Scalar();
    if (std::ranges::find(settings, key, &Setting::key) != settings.end()) {
      fail("{}: {}: {} is given twice; keep one", map.source, map.key, key);
    }
    settings.push_back({key, yaml_of(entry.second)});
  }
  return settings;
}

void read_bounds(const ConfigValue& value, Dimension& dimension) {
  const std::string expected = "[LOW, HIGH], two increasing numbers";
  const std::vector<ConfigValue> bounds = value.list(expected);
  if (bounds.size() != 2) value.reject(expected);
  dimension.low = bounds[0].number(expected);
  dimension.high = bounds[1].number(expected);
  if (!(dimension.low < dimension.high)) value.reject(expected);
  const bool is_logarithmic = dimension.distribution == Distribution::kLogUniform ||
                              dimension.distribution == Distribution::kOneMinusLogUniform;
  if (is_logarithmic && dimension.low <= 0) value.reject("[LOW, HIGH] above 0");
  // Values drawn between the bounds must be finite, too.
  if (!std::isfinite(is_logarithmic ? dimension.high / dimension.low
                                    : dimension.high - dimension.low)) {
    value.reject("[LOW, HIGH] whose difference (for logarithms: ratio) is at most 1.7e308");
  }
  if (dimension.distribution == Distribution::kOneMinusLogUniform && dimension.high > 1) {
    value.reject("[LOW, HIGH] of x for values 1 - x, with HIGH at most 1");
  }
  if (dimension.distribution == Distribution::kInteger) {
    constexpr double kExact = 1e15;  // so that LOW + i is an integer
    const bool are_integers = dimension.low == std::floor(dimension.low) &&
                              dimension.high == std::floor(dimension.high) &&
                              std::abs(dimension.low) < kExact && std::abs(dimension.high) < kExact;
    if (!are_integers) value.reject("[LOW, HIGH], two integers");
  }
}

constexpr Distribution kOfNumbers[] = {Distribution::kUniform, Distribution::kLogUniform,
                                       Distribution::kOneMinusLogUniform, Distribution::kInteger};

Dimension read_dimension(const ConfigValue& value) {
  Dimension dimension;
  int distributions = 0;
  for_each_key(
      value,
      {"key", "choice", "uniform", "log_uniform", "one_minus_log_uniform", "integer", "when"},
      [&](const std::string& key, const ConfigValue& part) {
        if (key == "key") dimension.key = part.text("a key of a run's configuration");
        if (key == "when") dimension.when = read_settings(part);
        if (key == "choice") {
          ++distributions;
          if (!part.node.IsSequence() || part.node.size() == 0) part.reject("a list of values");
          for (const YAML::Node& choice : part.node) dimension.choices.push_back(yaml_of(choice));
        }
        for (const Distribution distribution : kOfNumbers) {
          if (key != name_of(distribution)) continue;
          ++distributions;
          dimension.distribution = distribution;
          read_bounds(part, dimension);
        }
      });
  if (dimension.key.empty()) fail("{}: {}: has no 'key'", value.source, value.key);
  refuse_own_key(dimension.key, value);
  if (distributions != 1) {
    fail("{}: {}: {} needs one of choice, uniform, log_uniform, one_minus_log_uniform, integer",
         value.source, value.key, dimension.key);
  }
  return dimension;
}

// Requires that an earlier entry can draw the condition, and that entries of one key exclude each
// other.
void check_dimension(const Dimension& added, const std::vector<Dimension>& before,
                     const ConfigValue& entry) {
  for (const Setting& condition : added.when) {
    const bool can_hold = std::ranges::any_of(before, [&](const Dimension& other) {
      return other.key == condition.key &&
             std::ranges::find(other.choices, condition.value) != other.choices.end();
    });
    if (!can_hold) {
      fail("{}: {}.when: no earlier entry of {} has the choice {}", entry.source, entry.key,
           condition.key, condition.value);
    }
  }
  for (const Dimension& other : before) {
    const bool both_hold = std::ranges::none_of(added.when, [&](const Setting& condition) {
      const auto same = std::ranges::find(other.when, condition.key, &Setting::key);
      return same != other.when.end() && same->value != condition.value;
    });
    if (other.key == added.key && both_hold) {
      fail(
          "{}: {}: {} is in the space already; give both entries a 'when', so that at most one of "
          "them applies",
          entry.source, entry.key, added.key);
    }
  }
}

void read_space(const ConfigValue& value, SearchPlan& plan) {
  const std::string expected = "a list of entries such as '{key: ..., log_uniform: [LOW, HIGH]}'";
  if (!value.node.IsSequence() || value.node.size() == 0) value.reject(expected);
  if (value.node.size() > kMostDimensions) {
    fail("{}: {}: has {} keys; at most {} can be searched", value.source, value.key,
         value.node.size(), kMostDimensions);
  }
  for (const YAML::Node& node : value.node) {
    ConfigValue entry = value;
    entry.node.reset(node);
    entry.source = source_at(value, node);
    entry.key = fmt::format("space[{}]", plan.space.size());
    Dimension added = read_dimension(entry);
    check_dimension(added, plan.space, entry);
    plan.space.push_back(std::move(added));
  }
}

void read_rungs(const ConfigValue& section, SearchPlan& plan) {
  for_each_key(section, {"trials", "eta", "samples"},
               [&](const std::string& key, const ConfigValue& value) {
                 if (key == "trials") {
                   plan.trials = static_cast<int>(integer_from(value, 1, kMostTrials));
                 }
                 if (key == "eta") plan.eta = static_cast<int>(integer_from(value, 2, kMostTrials));
                 if (key != "samples") return;
                 for (const ConfigValue& rung : value.list("a list of increasing integers")) {
                   plan.rungs.push_back(integer_from(rung, 1, kMostSamples));
                   const size_t last = plan.rungs.size() - 1;
                   if (last > 0 && plan.rungs[last] <= plan.rungs[last - 1]) {
                     value.reject("a list of increasing integers");
                   }
                 }
               });
  for (const char* missing :
       {plan.trials == 0 ? "trials" : "", plan.rungs.empty() ? "samples" : ""}) {
    if (*missing) fail("{}: {}.{}: is missing", section.source, section.key, missing);
  }
}

void read_finals(const ConfigValue& section, SearchPlan& plan) {
  for_each_key(section, {"trials", "seeds", "samples"},
               [&](const std::string& key, const ConfigValue& value) {
                 if (key == "trials") {
                   plan.finalists = static_cast<int>(integer_from(value, 1, kMostTrials));
                 }
                 if (key == "seeds")
                   plan.seeds = static_cast<int>(integer_from(value, 1, kMostSeeds));
                 if (key == "samples") plan.final_samples = integer_from(value, 1, kMostSamples);
               });
}

// Requires that every trial that will be drawn can run.
void check_trials(const SearchPlan& plan, const std::filesystem::path& file) {
  for (int trial = kBaseTrial; trial <= plan.trials; ++trial) {
    const Settings settings = settings_of(plan, trial);
    try {
      const config::RunConfig run = configuration_of(plan, settings);
      if (plan.ranks % config::ranks_of_replica(run) != 0) {
        fail("ranks: {} is not a multiple of the {} ranks of a replica", plan.ranks,
             config::ranks_of_replica(run));
      }
    } catch (const Error& error) {
      if (trial == kBaseTrial)
        fail("{}: the configuration cannot run without a trial's settings: {}", file.string(),
             error.what());
      fail("{}: trial {} ({}) cannot run: {}", file.string(), trial, to_text(settings),
           error.what());
    }
  }
}

}  // namespace

const char* name_of(Objective objective) {
  return objective == Objective::kSamples ? "samples" : "seconds";
}

SearchPlan load_search_plan(const std::filesystem::path& path) {
  SearchPlan plan;
  plan.finalists = 2;
  plan.seeds = 5;
  ConfigValue root;
  root.node = config::parse_yaml(read_file(path), path.string());
  root.source = path.string() + ":1";
  root.base = std::filesystem::absolute(path).parent_path();
  for_each_key(root,
               {"config", "set", "ranks", "seed", "objective", "rungs", "evaluate_every_samples",
                "finals", "space"},
               [&](const std::string& key, const ConfigValue& value) {
                 if (key == "config") plan.config = value.path("the path of a run's YAML file");
                 if (key == "set") {
                   plan.fixed = read_settings(value);
                   for (const Setting& setting : plan.fixed) refuse_own_key(setting.key, value);
                 }
                 if (key == "ranks")
                   plan.ranks = static_cast<int>(integer_from(value, 1, 1'000'000));
                 if (key == "seed")
                   plan.seed = static_cast<uint64_t>(integer_from(value, 0, kLargestSeed));
                 if (key == "objective") {
                   if (value.is_word("seconds"))
                     plan.objective = Objective::kSeconds;
                   else if (!value.is_word("samples"))
                     value.reject("one of `samples`, `seconds`");
                 }
                 if (key == "rungs") read_rungs(value, plan);
                 if (key == "evaluate_every_samples") {
                   plan.evaluate_every = integer_from(value, 1, kMostSamples);
                 }
                 if (key == "finals") read_finals(value, plan);
                 if (key == "space") read_space(value, plan);
               });
  const auto require = [&](const char* key, bool is_there) {
    if (!is_there) fail("{}: {}: is missing; see docs/search.md", path.string(), key);
  };
  require("config", !plan.config.empty());
  require("rungs", !plan.rungs.empty());
  require("space", !plan.space.empty());
  if (plan.final_samples == 0) plan.final_samples = plan.rungs.back();
  if (plan.final_samples < plan.rungs.back()) {
    fail("{}: finals.samples: {} are fewer than the last rung's {}", path.string(),
         plan.final_samples, plan.rungs.back());
  }
  check_trials(plan, path);
  if (plan.evaluate_every == 0) {
    plan.evaluate_every = config::eval_interval_samples(configuration_of(plan), plan.ranks);
  }
  return plan;
}

config::RunConfig configuration_of(const SearchPlan& plan, const Settings& settings) {
  std::vector<std::string> overrides = overrides_of(plan.fixed);
  std::ranges::copy(overrides_of(settings), std::back_inserter(overrides));
  return config::load_run_config(plan.config, overrides);
}

}  // namespace strata::search
