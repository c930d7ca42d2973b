#include "compare/measurement_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"

namespace strata::compare {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr uint64_t kMostBytes = 64u << 20;
constexpr double kMostMeasured = 1e60;
constexpr int kDeepest = 32;  // nested objects
constexpr size_t kEnoughDocuments = 9;

// Refuses objects with more keys than a benchmark prints, because looking up a key in an ordered
// object takes linear time.
class KeyCounter : public nlohmann::json_sax<ordered_json> {
 public:
  bool start_object(size_t) override {
    keys_.push_back(0);
    return true;
  }
  bool key(std::string&) override { return ++keys_.back() <= kMostKeys; }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(ordered_json::binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;  // the second parse reports the error
  }

  bool found_many() const { return !keys_.empty() && keys_.back() > kMostKeys; }

 private:
  static constexpr size_t kMostKeys = 10'000;
  std::vector<size_t> keys_;  // key counts of the open objects
};

void refuse_many_keys(std::istringstream& text, const fs::path& file, std::streamoff offset) {
  KeyCounter counter;
  constexpr bool kMoreFollows = false;
  ordered_json::sax_parse(text, &counter, nlohmann::detail::input_format_t::json, kMoreFollows);
  if (counter.found_many()) {
    fail("{}: offset {}: the object has more keys than 'strata bench --json' prints", file.string(),
         offset);
  }
  text.clear();
  text.seekg(offset);
}

// Returns the names of an array's objects: their first text, or all their texts if several begin
// alike, else their index.
std::vector<std::string> names_of(const ordered_json& array) {
  std::vector<std::string> first, all;
  std::map<std::string, int> uses;
  for (const ordered_json& item : array) {
    std::vector<std::string> texts;
    if (item.is_object()) {
      for (const auto& [key, value] : item.items()) {
        if (value.is_string() && !(value.get_ref<const std::string&>().empty())) {
          texts.push_back(value.get<std::string>());
        }
      }
    }
    if (texts.empty()) texts.push_back(std::to_string(first.size()));
    first.push_back(texts.front());
    all.push_back(fmt::format("{}", fmt::join(texts, ", ")));
    ++uses[texts.front()];
  }
  for (size_t i = 0; i < first.size(); ++i) {
    if (uses[first[i]] > 1) first[i] = all[i];
  }
  return first;
}

// Returns whether it is a time, a size or a rate, not a difference.
bool is_never_negative(std::string_view name) {
  return better_of(name) != Better::kNeither &&
         (name.ends_with("seconds") || name.find("seconds.") != name.npos ||
          name.ends_with("bytes") || name.ends_with("per_second"));
}

void collect(const ordered_json& value, const std::string& name, int depth, MeasurementSide& side) {
  if (depth > kDeepest) fail("objects are nested more than {} deep", kDeepest);
  const auto below = [&](const std::string& key) { return name.empty() ? key : name + '.' + key; };
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) collect(item, below(key), depth + 1, side);
  } else if (value.is_array()) {
    const std::vector<std::string> names = names_of(value);
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_object()) collect(value[i], below(names[i]), depth + 1, side);
    }
  } else if (value.is_number()) {
    const auto number = value.get<double>();
    if (std::abs(number) > kMostMeasured) {
      fail("{} is {}, which is too large for a measurement", name, count_text(number));
    }
    if (number < 0 && is_never_negative(name))
      fail("{} is {}, but must not be negative", name, number);
    side.numbers[name].push_back(number);
  } else if (value.is_string()) {
    side.texts.emplace(name, value.get<std::string>());
  }
}

void refuse_newer(const ordered_json& document) {
  const auto version = document.find("version");
  if (version == document.end() || !version->is_number_integer()) return;
  if (version->get<int64_t>() > kJsonVersion) {
    fail(
        "is JSON of version {}, but this program reads version {}; use the strata that wrote it, "
        "or a later one",
        version->get<int64_t>(), kJsonVersion);
  }
}

bool is_of_google_benchmark(const ordered_json& document) {
  const auto benchmarks = document.find("benchmarks");
  return document.contains("context") && benchmarks != document.end() && benchmarks->is_array();
}

double seconds_of(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  fail("unknown unit of time '{}'", unit);
}

// Collects the time of every repetition that Google Benchmark bases rates on: CPU time, or real
// time if the name says so.
void collect_google_benchmarks(const ordered_json& document, MeasurementSide& side) {
  if (const auto& context = document["context"]; context.contains("host_name")) {
    collect(context["host_name"], "host_name", 0, side);
  }
  for (const ordered_json& each : document["benchmarks"]) {
    const std::string name = each.at("name").get<std::string>();
    if (each.value("run_type", "iteration") != "iteration") continue;  // a mean of others
    if (each.value("error_occurred", false)) {
      fail("{} failed: {}", name, each.value("error_message", "no reason is given"));
    }
    const bool clock =
        name.find("/real_time") != name.npos || name.find("/manual_time") != name.npos;
    side.numbers[name + ".seconds"].push_back(
        each.at(clock ? "real_time" : "cpu_time").get<double>() *
        seconds_of(each.at("time_unit").get<std::string>()));
  }
}

void read_documents(const fs::path& file, MeasurementSide& side) {
  std::istringstream text(read_file(file, kMostBytes));
  while (text >> std::ws, text.peek() != std::istringstream::traits_type::eof()) {
    const std::streamoff offset = text.tellg();
    refuse_many_keys(text, file, offset);
    ordered_json document;
    try {
      text >> document;
    } catch (const ordered_json::exception& error) {
      fail("{}: offset {}: is not the JSON that 'strata bench --json' prints: {}", file.string(),
           offset, error.what());
    }
    if (!document.is_object()) {
      fail("{}: offset {}: is not a JSON object as 'strata bench --json' prints it", file.string(),
           offset);
    }
    try {
      refuse_newer(document);
      is_of_google_benchmark(document) ? collect_google_benchmarks(document, side)
                                       : collect(document, "", 0, side);
    } catch (const std::exception& error) {
      fail("{}: offset {}: {}", file.string(), offset, error.what());
    }
    ++side.documents;
  }
}

bool is_any_in(std::string_view name, const std::vector<std::string>& parts) {
  return parts.empty() || std::ranges::any_of(parts, [&](const std::string& part) {
           return name.find(part) != name.npos;
         });
}

std::string text_of(double number) { return fmt::format("{:.10g}", number); }

}  // namespace

MeasurementSide read_measurement_side(const fs::path& path) {
  MeasurementSide side{.name = path.string()};
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    read_documents(path, side);
  } else {
    for (const fs::path& file : list_directory(path)) {
      if (file.extension() == ".json") read_documents(file, side);
    }
  }
  if (side.documents == 0) fail("{}: holds no JSON of 'strata bench --json'", path.string());
  return side;
}

Better better_of(std::string_view name) {
  for (const std::string_view part : {"formula", "deviation", "closed_form", "paper"}) {
    if (name.find(part) != name.npos) return Better::kNeither;
  }
  for (const std::string_view part : {"per_second", "share_of_peak", "share_of_matrix_peak",
                                      "share_of_copy_peak", "hidden_share"}) {
    if (name.find(part) != name.npos) return Better::kHigher;
  }
  for (const std::string_view part : {"seconds", "bytes", "imbalance", "step_increase", "error"}) {
    if (name.find(part) != name.npos) return Better::kLower;
  }
  return Better::kNeither;
}

Comparison compare_measurements(const MeasurementSide& base, const MeasurementSide& other,
                                const std::vector<std::string>& only) {
  Comparison comparison{.what = "measurements", .base = base.name, .other = other.name};
  bool any = false;
  for (const auto& [name, values] : base.numbers) {
    const auto found = other.numbers.find(name);
    if (found == other.numbers.end() || !is_any_in(name, only)) continue;
    const Better better = better_of(name);
    if (better == Better::kNeither) {
      if (values.front() != found->second.front() && name.find("formula") == name.npos &&
          name.find("deviation") == name.npos) {
        comparison.notes.push_back(fmt::format("the sides differ in {}: {} and {}", name,
                                               text_of(values.front()),
                                               text_of(found->second.front())));
      }
      continue;
    }
    any = true;
    if (values == found->second &&
        std::ranges::count(values, values.front()) == static_cast<ptrdiff_t>(values.size())) {
      continue;
    }
    comparison.quantities.push_back(
        make_quantity(name, "", better, {.values = values}, {.values = found->second}));
  }
  if (!any) {
    fail("{} and {} have no time, size or rate in common{}", base.name, other.name,
         only.empty() ? "" : " that --only chooses");
  }
  for (const auto& [name, text] : base.texts) {
    const auto found = other.texts.find(name);
    if (found == other.texts.end() || found->second == text) continue;
    if (name == "model" || name.ends_with(".model") || name.ends_with("unit")) {
      fail("{} and {} differ in {} ({} and {}), so their numbers cannot be compared", base.name,
           other.name, name, text, found->second);
    }
    comparison.notes.push_back(
        fmt::format("the sides differ in {}: {} and {}", name, text, found->second));
  }
  for (const MeasurementSide* side : {&base, &other}) {
    if (side->documents < kEnoughDocuments) {
      comparison.notes.push_back(
          fmt::format("{}: measured only {}; fewer than {} times say little about a difference",
                      side->name, counted(side->documents, "time"), kEnoughDocuments));
    }
  }
  return comparison;
}

}  // namespace strata::compare
