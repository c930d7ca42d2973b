#include "results/plots/timeline_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"

namespace strata::results {
namespace {

using nlohmann::json;
using Span = TimelineTrace::Span;

constexpr size_t kMostSpans = 20000, kMostLanes = 500;
// Names that an error lists.
constexpr size_t kMostNames = 12;
constexpr double kWidth = 11, kMargins = 1.9, kRowHeight = 0.32, kCharacter = 0.068,
                 kGap = 0.008;  // inches

// Words that have a colour of their own, in the order of the key; others are grey.
struct Colour {
  const char* word;
  const char* rgb;
  bool dark = false;
};
constexpr Colour kColours[] = {
    {"forward", "#56b4e9"},      {"backward", "#0072b2", true}, {"recompute", "#a6d8f5"},
    {"clip", "#e69f00"},         {"norm", "#f5cf7a"},           {"update", "#d55e00", true},
    {"reduce", "#009e73", true}, {"exchange", "#7fceb9"},       {"gather", "#cc79a7"},
    {"send", "#b8a038"},         {"receive", "#f0e442"},        {"", "#d9d9d9"}};

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

// "receive_input layer_3" is a receive.
std::string verb(const std::string& name) { return name.substr(0, name.find_first_of(" _")); }

const Colour& colour_of(const std::string& name) {
  const std::string word = verb(name);
  const auto colour =
      std::ranges::find_if(kColours, [&](const Colour& c) { return c.word == word; });
  return colour == std::end(kColours) ? kColours[std::size(kColours) - 1] : *colour;
}

// ---- Reading

double time_of(const json& event, const char* key, const std::string& where) {
  const json& value = event.at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    fail("{}: '{}' is no time in microseconds", where, key);
  }
  return value.get<double>() / 1e3;
}

int number_of(const json& event, const char* key, const std::string& where) {
  const auto value = event.find(key);
  if (value == event.end()) return 0;
  if (!value->is_number_integer() || *value < 0 || *value > 1000000) {
    fail("{}: '{}' is no number of a rank or a lane", where, key);
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
  if (!event.is_object()) fail("{} is no event", where);
  const std::string phase = text_of(event, "ph");
  const int process = number_of(event, "pid", where), lane = number_of(event, "tid", where);
  if (phase == "M") read_name(event, process, lane, trace);
  if (phase != "X") return;
  for (const char* key : {"ts", "dur"}) {
    if (!event.contains(key)) fail("{} has no '{}'", where, key);
  }
  const double begin = time_of(event, "ts", where), duration = time_of(event, "dur", where);
  if (duration < 0) fail("{}: 'dur' is below 0", where);
  trace.spans.push_back({process, lane, text_of(event, "name"), begin, begin + duration});
}

// ---- Drawing

struct Panel {
  std::string title;
  double begin_ms, end_ms;
};

const Span& span_named(const TimelineTrace& trace, const std::string& name) {
  // The first lane that has it, of the first rank.
  const Span* found = nullptr;
  for (const Span& span : trace.spans) {
    if (span.name != name) continue;
    if (!found || std::pair(span.process, span.lane) < std::pair(found->process, found->lane)) {
      found = &span;
    }
  }
  if (found) return *found;
  std::vector<std::string> names;
  for (const Span& span : trace.spans) {
    if (span.lane == 0 && std::ranges::find(names, span.name) == names.end())
      names.push_back(span.name);
  }
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  fail("no span is called '{}'; the first lane has '{}'{}", name, fmt::join(names, "', '"),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<Panel> panels_of(const TimelineTrace& trace, const std::vector<std::string>& within) {
  std::vector<Panel> panels;
  for (const std::string& name : within) {
    const Span& span = span_named(trace, name);
    panels.push_back({name, span.begin_ms, span.end_ms});
  }
  if (!panels.empty()) return panels;
  const auto [first, last] = std::ranges::minmax_element(trace.spans, {}, &Span::begin_ms);
  const auto end = std::ranges::max_element(trace.spans, {}, &Span::end_ms);
  return {{"", first->begin_ms, end->end_ms}};
}

// What a box of so many inches has room for: what follows the first word, or its number.
std::string label_in(const std::string& name, double inches) {
  const auto fits = [&](const std::string& text) {
    return kCharacter * static_cast<double>(text.size() + 1) < inches;
  };
  const bool coloured = *colour_of(name).word != '\0';
  std::string rest =
      coloured ? name.substr(std::min(name.size(), first_word(name).size() + 1)) : name;
  if (fits(rest)) return rest;
  const size_t digits = rest.find_last_not_of("0123456789") + 1;
  rest = digits < rest.size() ? rest.substr(digits) : "";
  return fits(rest) ? rest : "";
}

class Drawing {
 public:
  Drawing(const TimelineTrace& trace, const std::vector<Panel>& panels) : trace_(trace) {
    for (const Panel& panel : panels)
      longest_ms_ = std::max(longest_ms_, panel.end_ms - panel.begin_ms);
    for (const Panel& panel : panels) add(panel);
  }

  Plot plot() const {
    if (drawn_ == 0) fail("there is nothing to plot: no span has a length there");
    std::string data;
    std::vector<std::string> boxes;
    for (const Colour& colour : kColours) {
      const auto rows = rows_of_colour_.find(colour.word);
      if (rows == rows_of_colour_.end()) continue;
      data += fmt::format("$boxes{} << EOD\n{}EOD\n", boxes.size(), rows->second);
      boxes.push_back(fmt::format(
          "$boxes{} using 1:2:3:4:5:6 with boxxyerror fs solid noborder lc rgb '{}' title {}",
          boxes.size(), colour.rgb, gnuplot_string(*colour.word ? colour.word : "other")));
    }
    Plot plot;
    plot.drawn = drawn_;
    plot.picture.width = kWidth;
    plot.picture.height = 1.2 + kRowHeight * row_;
    plot.picture.script = fmt::format(
        "{}{}set key above left horizontal\nset lmargin at screen {:.4f}\nset rmargin at screen "
        "{:.4f}\nset tics nomirror\nunset ytics\nset border 1\nset xlabel 'ms'\n"
        "set xrange [0:{:.9g}]\nset yrange [{:.9g}:0]\nplot {}\n",
        data, labels_, (kMargins - 0.2) / kWidth, 1 - 0.2 / kWidth, longest_ms_, row_,
        fmt::join(boxes, ", \\\n  "));
    return plot;
  }

 private:
  void add(const Panel& panel) {
    std::map<std::pair<int, int>, std::vector<const Span*>> lanes;
    for (const Span& span : trace_.spans) {
      const bool inside = span.begin_ms < panel.end_ms && span.end_ms > panel.begin_ms;
      if (inside && (panel.title.empty() || span.name != panel.title))
        lanes[{span.process, span.lane}].push_back(&span);
    }
    if (!panel.title.empty()) {
      label(panel.title, "graph 0", row_ + 0.5, "left", 10);
      row_ += 1;
    }
    if (lanes.size() > kMostLanes) {
      fail("{} lanes cannot be seen in one picture: at most {} can", lanes.size(), kMostLanes);
    }
    for (const auto& [lane, spans] : lanes) {
      label(name_of(lane), "graph -0.01", row_ + 0.5, "right", 9);
      for (const Span* span : spans) add(*span, panel);
      row_ += 1;
    }
    row_ += 0.5;
  }

  void add(const Span& span, const Panel& panel) {
    if (++drawn_ > kMostSpans) {
      fail("more than {} spans cannot be seen in one picture: draw a step of them with --within",
           kMostSpans);
    }
    const double begin = std::max(span.begin_ms, panel.begin_ms) - panel.begin_ms,
                 end = std::min(span.end_ms, panel.end_ms) - panel.begin_ms;
    // A box shows where it ends, and that it is there.
    const double ms_per_inch = longest_ms_ / (kWidth - kMargins), length = end - begin;
    const double drawn =
        std::max(length - std::min(0.1 * length, kGap * ms_per_inch), kGap * ms_per_inch);
    const double middle = begin + drawn / 2;
    const Colour& colour = colour_of(span.name);
    rows_of_colour_[colour.word] +=
        fmt::format("{:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}\n", middle, row_ + 0.5, begin,
                    begin + drawn, row_ + 0.08, row_ + 0.92);
    const std::string text = label_in(span.name, length / ms_per_inch);
    if (text.empty()) return;
    label(text, fmt::format("first {:.9g}", middle), row_ + 0.5, "center", 8,
          colour.dark ? "white" : "black");
  }

  void label(const std::string& text, const std::string& x, double y, const char* side, int size,
             const char* colour = "black") {
    labels_ += fmt::format("set label {} at {}, first {:.9g} {} font ',{}' tc rgb '{}' front\n",
                           gnuplot_string(text), x, y, side, size, colour);
  }

  std::string name_of(const std::pair<int, int>& lane) const {
    const auto process = trace_.processes.find(lane.first);
    const auto own = trace_.lanes.find(lane);
    return fmt::format(
        "{}, {}",
        process == trace_.processes.end() ? fmt::format("process {}", lane.first) : process->second,
        own == trace_.lanes.end() ? fmt::format("lane {}", lane.second) : own->second);
  }

  const TimelineTrace& trace_;
  double longest_ms_ = 1e-6;
  double row_ = 0;  // of the next lane, from the top
  size_t drawn_ = 0;
  std::map<std::string, std::string> rows_of_colour_;
  std::string labels_;
};

}  // namespace

TimelineTrace read_timeline(const std::filesystem::path& path) {
  const json trace = json::parse(read_file(path), nullptr, false);
  const json* events = &trace;
  if (trace.is_object()) {
    const auto found = trace.find("traceEvents");
    events = found == trace.end() ? nullptr : &*found;
  }
  if (!events || !events->is_array()) {
    fail("{}: no Chrome trace JSON, such as log.timeline_steps and --timeline write",
         path.string());
  }
  TimelineTrace result;
  for (size_t i = 0; i < events->size(); ++i) {
    read_event((*events)[i], fmt::format("{}: event {}", path.string(), i), result);
  }
  if (result.spans.empty()) fail("{}: a timeline without spans", path.string());
  return result;
}

Plot plot_timeline(const TimelineTrace& trace, const std::vector<std::string>& within) {
  return Drawing(trace, panels_of(trace, within)).plot();
}

}  // namespace strata::results
