#include "scoring/plots/timeline_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::scoring {
namespace {

using nlohmann::json;

double time_of(const json& event, const char* key, const std::string& where) {
  const json& value = event.at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    fail("{}: '{}' is not a time in microseconds", where, key);
  }
  return value.get<double>() / 1e3;
}

int number_of(const json& event, const char* key, const std::string& where) {
  const auto value = event.find(key);
  if (value == event.end()) return 0;
  if (!value->is_number_integer() || *value < 0 || *value > 1000000) {
    fail("{}: '{}' is not the number of a rank or lane", where, key);
  }
  return value->get<int>();
}

std::string text_of(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

void read_name(const json& event, int process, int lane, TimelineTrace& trace) {
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object()) return;
  const std::string kind = text_of(event, "name"), name = text_of(*arguments, "name");
  if (kind == "process_name") trace.processes[process] = name;
  if (kind == "thread_name") trace.lanes[{process, lane}] = name;
}

void read_event(const json& event, const std::string& where, TimelineTrace& trace) {
  if (!event.is_object()) fail("{} is not a JSON object", where);
  const std::string phase = text_of(event, "ph");
  const int process = number_of(event, "pid", where), lane = number_of(event, "tid", where);
  if (phase == "M") read_name(event, process, lane, trace);
  if (phase != "X") return;
  for (const char* key : {"ts", "dur"}) {
    if (!event.contains(key)) fail("{} has no '{}'", where, key);
  }
  const double begin = time_of(event, "ts", where), duration = time_of(event, "dur", where);
  if (duration < 0) fail("{}: 'dur' is negative", where);
  trace.spans.push_back({process, lane, text_of(event, "name"), begin, begin + duration});
}

}  // namespace

TimelineTrace read_timeline(const std::filesystem::path& path) {
  const json trace = json::parse(read_file(path), nullptr, false);
  const json* events = &trace;
  if (trace.is_object()) {
    const auto found = trace.find("traceEvents");
    events = found == trace.end() ? nullptr : &*found;
  }
  if (!events || !events->is_array()) {
    fail("{}: is not a Chrome trace in JSON, as log.timeline_steps and --timeline write it",
         path.string());
  }
  TimelineTrace result{.name = path.filename().string()};
  for (size_t i = 0; i < events->size(); ++i) {
    read_event((*events)[i], fmt::format("{}: event {}", path.string(), i), result);
  }
  if (result.spans.empty()) fail("{}: the timeline has no spans", path.string());
  return result;
}

}  // namespace strata::scoring
