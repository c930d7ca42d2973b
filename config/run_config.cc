#include "config/run_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/edit_distance.h"
#include "compliance/checks/evaluation_interval.h"
#include "config/config_value.h"
#include "config/run_config_checks.h"
#include "config/run_config_keys.h"
#include "config/yaml_document.h"

namespace strata::config {
namespace {

using Values = std::map<std::string, ConfigValue>;

// Returns null if there is no such key.
const ConfigKey* find_key(std::string_view name) {
  for (const ConfigSection& section : config_sections()) {
    for (const ConfigKey& key : section.keys) {
      if (key.name == name) return &key;
    }
  }
  return nullptr;
}

bool is_key(std::string_view name) { return find_key(name) != nullptr; }

// Returns whether the key holds a map. Its entries may be given one by one.
bool is_map_key(std::string_view name) {
  const ConfigKey* key = find_key(name);
  return key && key->is_map;
}

bool is_section(std::string_view name) {
  return std::any_of(config_sections().begin(), config_sections().end(),
                     [name](const ConfigSection& section) { return section.name == name; });
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Returns the known name that is nearest to `name`, or an empty text if none is near.
std::string nearest_name(const std::string& name) {
  constexpr size_t kLongestName = 100;
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 4) + 1;
  if (name.size() > kLongestName) return best;
  const auto consider = [&](const std::string& known) {
    const bool same_key = last_part(known) == last_part(name);
    const size_t distance = same_key ? 1 : edit_distance(name, known, best_distance);
    if (distance < best_distance) {
      best_distance = distance;
      best = known;
    }
  };
  for (const ConfigSection& section : config_sections()) {
    consider(section.name);
    for (const ConfigKey& key : section.keys) consider(key.name);
  }
  return best;
}

// Keys and sections of earlier versions, their present names, and the keys' defaults.
struct RenamedKey {
  std::string_view old_name;
  std::string_view name;
  std::string_view default_value;  // empty for a section
};
constexpr RenamedKey kRenamedKeys[] = {
    {"device.attention", "device.options.attention", "fastest"},
    {"device.epilogues", "device.options.epilogues", "fastest"},
    {"reduce.early_words", "reduce.split_tied_embedding", "false"},
    {"schedule", "lr_schedule", ""}};

[[noreturn]] void reject_unknown(const ConfigValue& value) {
  for (const RenamedKey& key : kRenamedKeys) {
    if (!value.key.starts_with(key.old_name)) continue;
    const std::string_view below = std::string_view(value.key).substr(key.old_name.size());
    if (below.empty() || (key.default_value.empty() && below.front() == '.')) {
      fail("{}: {}: is now called {}{}", value.source, value.key, key.name, below);
    }
  }
  const std::string nearest = nearest_name(value.key);
  fail("{}: {}: unknown key; {}", value.source, value.key,
       nearest.empty() ? "see docs/config.md or 'strata train --describe-config'"
                       : fmt::format("did you mean {}?", nearest));
}

std::string source_at(const std::string& file, const YAML::Node& node) {
  return node.Mark().is_null() ? file : fmt::format("{}:{}", file, node.Mark().line + 1);
}

// A renamed key with its default, which every resolved configuration of earlier versions has.
bool is_dropped(const ConfigValue& value) {
  return std::any_of(std::begin(kRenamedKeys), std::end(kRenamedKeys), [&](const RenamedKey& key) {
    return value.key == key.old_name && value.is_word(key.default_value);
  });
}

std::string parent_of(const std::string& name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

// Adds one entry of a key whose value is a map to the entries in `values`.
void collect_entry(const ConfigValue& entry, Values& values) {
  ConfigValue map = entry;
  map.key = parent_of(entry.key);
  map.node.reset(YAML::Node(YAML::NodeType::Map));  // assigning would change entry.node, too
  const std::string name = entry.key.substr(map.key.size() + 1);
  const auto known = values.find(map.key);
  if (known != values.end()) {
    if (!known->second.node.IsMap() && !known->second.node.IsNull()) {
      known->second.reject("`{name: value, ...}`");
    }
    for (const auto& other : known->second.node) {
      if (other.first.Scalar() != name) map.node[other.first] = other.second;
    }
    values.erase(known);
  }
  map.node[name] = entry.node;
  values.emplace(map.key, map);
}

// Collects errors, one line each, so that a user can mend all at once.
class Problems {
 public:
  template <typename Work>
  void attempt(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      lines_.emplace_back(error.what());
    }
  }
  void add(const std::vector<std::string>& lines) {
    lines_.insert(lines_.end(), lines.begin(), lines.end());
  }
  bool empty() const { return lines_.empty(); }
  void throw_if_any() const {
    if (!empty()) fail("{}", fmt::join(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

// Adds to `values` every key below `value`, which is a section or a key. `with_lines` adds each
// key's line to its source.
void collect(const ConfigValue& value, bool with_lines, Values& values, Problems& problems) {
  if (is_key(value.key)) {
    // Erases first, because assigning to a node would change every alias of the old value.
    values.erase(value.key);
    values.emplace(value.key, value);
    return;
  }
  if (is_map_key(parent_of(value.key))) return collect_entry(value, values);
  if (is_dropped(value)) return;
  if (!value.key.empty() && !is_section(value.key)) reject_unknown(value);
  if (value.node.IsNull()) return;
  if (!value.node.IsMap()) value.reject("a section of 'key: value' lines");
  std::vector<std::string> seen;
  for (const auto& entry : value.node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    ConfigValue child = value;
    child.node.reset(entry.second);
    child.key = value.key.empty() ? name : value.key + "." + name;
    const std::string file = value.source.substr(0, value.source.rfind(':'));
    if (with_lines) child.source = source_at(file, entry.first);
    problems.attempt([&] {
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
        fail("{}: {}: is given twice; keep one", child.source, child.key);
      }
      seen.push_back(name);
      collect(child, with_lines, values, problems);
    });
  }
}

void collect_file(const std::filesystem::path& path, bool is_resolved, Values& values,
                  Problems& problems) {
  ConfigValue root;
  root.is_resolved = is_resolved;
  root.node = parse_yaml(read_file(path), path.string());
  root.source = path.string() + ":1";
  root.base = std::filesystem::absolute(path).parent_path();
  if (!root.node.IsMap()) {
    fail("{}: is not a configuration; sections of 'key: value' lines are expected", path.string());
  }
  collect(root, true, values, problems);
}

void collect_override(const std::string& text, Values& values, Problems& problems) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    fail("--set {}: must have the form key=value, for example optimizer.lr=1e-3", text);
  }
  ConfigValue value;
  value.key = text.substr(0, equals);
  value.source = "--set";
  value.node = parse_yaml(text.substr(equals + 1), "--set " + text);
  value.base = std::filesystem::current_path();
  collect(value, false, values, problems);
}

RunConfig load(const std::filesystem::path& path, std::span<const std::string> overrides,
               bool is_resolved) {
  Values values;
  Problems problems;
  collect_file(path, is_resolved, values, problems);
  for (const std::string& text : overrides) {
    problems.attempt([&] { collect_override(text, values, problems); });
  }

  RunConfig config;
  config.run.output = std::filesystem::absolute(path).parent_path() / config.run.output;
  for (const ConfigSection& section : config_sections()) {
    for (const ConfigKey& key : section.keys) {
      problems.attempt([&] {
        const auto found = values.find(key.name);
        if (found != values.end()) {
          key.read(found->second, config);
        } else if (key.required) {
          fail("{}: {}: is missing; give {}", path.string(), key.name, key.type);
        }
      });
    }
  }
  if (problems.empty()) {
    problems.add(conflicts_in(config, [&](const std::string& key) {
      const auto found = values.find(key);
      return found == values.end() ? path.string() : found->second.source;
    }));
  }
  problems.throw_if_any();
  return config;
}

}  // namespace

RunConfig load_run_config(const std::filesystem::path& path,
                          std::span<const std::string> overrides) {
  return load(path, overrides, false);
}

RunConfig load_resolved_config(const std::filesystem::path& path) { return load(path, {}, true); }

std::string to_yaml(const RunConfig& config) {
  std::string text;
  for (const ConfigSection& section : config_sections()) {
    const size_t depth = std::count(section.name.begin(), section.name.end(), '.');
    text += fmt::format("{:{}}{}:\n", "", 2 * depth, last_part(section.name));
    for (const ConfigKey& key : section.keys) {
      text +=
          fmt::format("{:{}}{}: {}\n", "", 2 * depth + 2, last_part(key.name), key.write(config));
    }
  }
  return text;
}

std::vector<std::string> differences(const RunConfig& before, const RunConfig& now) {
  std::vector<std::string> lines;
  for (const ConfigSection& section : config_sections()) {
    for (const ConfigKey& key : section.keys) {
      const std::string was = key.write(before), is = key.write(now);
      if (was != is) lines.push_back(fmt::format("{}: {}, now {}", key.name, was, is));
    }
  }
  return lines;
}

int64_t global_batch_size(const RunConfig& config, int ranks) {
  return int64_t{config.batch.micro_batch} * config.batch.gradient_accumulation_steps *
         (ranks / ranks_of_replica(config));
}

int ranks_of_replica(const RunConfig& config) {
  return config.ouroboros.modules > 1 ? config.ouroboros.modules - 1 : config.parallel.stages;
}

int64_t max_steps(const RunConfig& config) {
  return config.target.max_steps.value_or(config.lr_schedule.training_steps);
}

int64_t eval_interval_samples(const RunConfig& config, int ranks) {
  const std::optional<int64_t>& configured = config.target.eval_interval_samples;
  return configured ? *configured
                    : compliance::mlperf_evaluation_interval(global_batch_size(config, ranks));
}

int64_t samples_at_next_evaluation(const RunConfig& config, int ranks, int64_t samples) {
  const int64_t interval = eval_interval_samples(config, ranks);
  const int64_t first = (config.target.start_eval_at_sample + interval - 1) / interval;
  return interval * std::max({int64_t{1}, first, samples / interval + 1});
}

}  // namespace strata::config
