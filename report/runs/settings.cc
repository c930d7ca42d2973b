#include "report/runs/settings.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "drawing/text.h"
#include "scoring/event_json.h"

namespace strata::report {
namespace {

using drawing::plain;

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMostBytes = 1 << 20;
constexpr size_t kMostSettings = 2000;
constexpr char kVaries[] = "varies";

// Returns whether a key describes one run or its owner instead of its settings.
bool is_of_one_run(std::string_view key) {
  constexpr std::array kKeys = {"seed",        "eval_accuracy",      "tracked_stats", "run_start",
                                "run_stop",    "init_start",         "init_stop",     "cache_clear",
                                "block_start", "block_stop",         "epoch_start",   "epoch_stop",
                                "eval_start",  "eval_stop",          "eval_loss",     "train_loss",
                                "data_file",   "initialized_tensor", "power_reading"};
  if (key.starts_with("submission_") || key.ends_with("_seed")) return true;
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::string text_of(const json& value) {
  if (value.is_string()) return plain(value.get_ref<const std::string&>());
  return plain(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

bool is_plain(const json& value) {
  return value.is_number() || value.is_string() || value.is_boolean();
}

// Collects the scalar values of a YAML file by the path of their keys. Aliases are not expanded, so
// that a short file stays short.
class Flattener : public YAML::EventHandler {
 public:
  explicit Flattener(Settings& settings) : settings_(settings) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { take("null"); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { take("(alias)"); }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    take(value);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(true);
  }
  void OnMapEnd() override { close(); }

 private:
  // A map, between keys or after one, or a sequence with its index.
  struct Level {
    bool is_map;
    bool has_key = false;
    std::string key;
    size_t place = 0;
  };

  void take(const std::string& value) {
    if (!levels_.empty() && levels_.back().is_map && !levels_.back().has_key) {
      levels_.back().key = value;
      levels_.back().has_key = true;
      return;
    }
    std::string path;
    for (const Level& level : levels_) {
      path += (path.empty() ? "" : ".") + (level.is_map ? level.key : std::to_string(level.place));
      if (path.size() > drawing::kLongestText) break;
    }
    if (settings_.size() < kMostSettings) {
      add_setting(settings_, "configuration: " + plain(path), plain(value));
    }
    finish_value();
  }
  void open(bool is_map) { levels_.push_back({is_map}); }
  void close() {
    levels_.pop_back();
    finish_value();
  }
  void finish_value() {
    if (levels_.empty()) return;
    levels_.back().has_key = false;
    ++levels_.back().place;
  }

  Settings& settings_;
  std::vector<Level> levels_;
};

}  // namespace

void add_setting(Settings& settings, const std::string& name, const std::string& value) {
  const auto [found, added] = settings.emplace(name, value);
  if (!added && found->second != value) found->second = kVaries;
}

void add_log_settings(const mllog::LogReader& log, Settings& settings) {
  Settings of_log;
  std::set<std::string> changing;
  log.visit([&](const mllog::Event& event) {
    if (is_of_one_run(event.key) || event.key.size() > drawing::kLongestText) return true;
    const std::string key = plain(event.key);
    if (changing.contains(key)) return true;
    const json value = scoring::parsed(event.value);
    if (!is_plain(value)) return true;
    const auto [found, added] = of_log.emplace(key, text_of(value));
    if (!added && found->second != text_of(value)) {
      of_log.erase(found);
      changing.insert(key);
    }
    return of_log.size() < kMostSettings && changing.size() < kMostSettings;
  });
  for (const auto& [key, value] : of_log) add_setting(settings, "log: " + key, value);
}

void add_configuration_text(const std::string& yaml, const std::string& name, Settings& settings) {
  std::istringstream stream(yaml);
  try {
    YAML::Parser parser(stream);
    Flattener flattener(settings);
    parser.HandleNextDocument(flattener);
  } catch (const YAML::Exception& error) {
    fail("{}: line {}: {}", name, error.mark.line + 1, error.msg);
  }
}

void add_configuration(const fs::path& log, Settings& settings) {
  fs::path path = log;
  path.replace_extension(".yaml");
  if (is_missing(path)) return;
  add_configuration_text(read_file(path, kMostBytes), path.string(), settings);
}

void add_system_description(const fs::path& path, Settings& settings) {
  if (is_missing(path)) return;
  const json fields = json::parse(read_file(path, kMostBytes), nullptr, false);
  if (!fields.is_object()) return;
  for (const auto& [key, value] : fields.items()) {
    if (is_plain(value)) add_setting(settings, "system: " + plain(key), text_of(value));
  }
}

}  // namespace strata::report
