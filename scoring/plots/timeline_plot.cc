#include "scoring/plots/timeline_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "drawing/rows.h"
#include "drawing/text.h"

namespace strata::scoring {
namespace {

using Span = TimelineTrace::Span;

constexpr size_t kMostSpans = 20000, kMostLanes = 500;
// Most names that an error lists.
constexpr size_t kMostNames = 12;

// Verbs in the order of the legend, with the part of chart.css that gives their colour. Other verbs
// are grey.
struct Verb {
  std::string_view word;
  int part;
};
constexpr Verb kVerbs[] = {{"forward", 5}, {"backward", 0}, {"recompute", 6}, {"clip", 1},
                           {"norm", 7},    {"update", 4},   {"reduce", 8},    {"exchange", 2},
                           {"gather", 3},  {"send", 9},     {"receive", 10},  {"", 11}};

// Returns the verb: "receive" for "receive_input layer_3".
const Verb& verb_of(const std::string& name) {
  const auto verb =
      std::ranges::find(kVerbs, name.substr(0, name.find_first_of(" _")), &Verb::word);
  return verb == std::end(kVerbs) ? *std::rbegin(kVerbs) : *verb;
}

struct Panel {
  const TimelineTrace* trace;
  std::string title;
  double begin_ms, end_ms;
};

// Returns the span of the first rank's first lane with that name, or null.
const Span* span_named(const TimelineTrace& trace, const std::string& name) {
  const Span* found = nullptr;
  for (const Span& span : trace.spans) {
    if (span.name != name) continue;
    if (!found || std::pair(span.process, span.lane) < std::pair(found->process, found->lane)) {
      found = &span;
    }
  }
  return found;
}

Panel panel_named(std::span<const TimelineTrace> traces, const std::string& name) {
  std::vector<std::string> names;
  for (const TimelineTrace& trace : traces) {
    if (const Span* span = span_named(trace, name)) {
      return {&trace, name, span->begin_ms, span->end_ms};
    }
    for (const Span& span : trace.spans) {
      if (span.lane == 0 && std::ranges::find(names, span.name) == names.end())
        names.push_back(span.name);
    }
  }
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  fail("no span is called '{}'; the first lane has '{}'{}", name, fmt::join(names, "', '"),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<Panel> panels_of(std::span<const TimelineTrace> traces,
                             const std::vector<std::string>& within) {
  std::vector<Panel> panels;
  for (const std::string& name : within) panels.push_back(panel_named(traces, name));
  if (!panels.empty()) return panels;
  for (const TimelineTrace& trace : traces) {
    const auto begin = std::ranges::min_element(trace.spans, {}, &Span::begin_ms);
    const auto end = std::ranges::max_element(trace.spans, {}, &Span::end_ms);
    panels.push_back({&trace, traces.size() > 1 ? trace.name : "", begin->begin_ms, end->end_ms});
  }
  return panels;
}

// Returns candidate labels: the text after the verb, and the number at its end. The first that has
// room is drawn.
std::vector<std::string> labels_of(const std::string& name) {
  const size_t space = name.find(' ');
  const std::string rest = verb_of(name).word.empty() ? name
                           : space == name.npos       ? ""
                                                      : name.substr(space + 1);
  const size_t digits = rest.find_last_not_of("0123456789") + 1;
  return {rest, rest.substr(digits)};
}

std::string name_of(const TimelineTrace& trace, const std::pair<int, int>& lane) {
  const auto process = trace.processes.find(lane.first);
  const auto own = trace.lanes.find(lane);
  return fmt::format(
      "{}, {}",
      process == trace.processes.end() ? fmt::format("process {}", lane.first) : process->second,
      own == trace.lanes.end() ? fmt::format("lane {}", lane.second) : own->second);
}

// Returns a row per lane with the spans that overlap the panel.
std::vector<drawing::Row> rows_of(const Panel& panel) {
  const TimelineTrace& trace = *panel.trace;
  std::map<std::pair<int, int>, std::vector<drawing::Bar>> lanes;
  for (const Span& span : trace.spans) {
    const bool is_inside = span.begin_ms < panel.end_ms && span.end_ms > panel.begin_ms;
    if (!is_inside || (!panel.title.empty() && span.name == panel.title)) continue;
    lanes[{span.process, span.lane}].push_back(
        {.from = std::max(span.begin_ms, panel.begin_ms) - panel.begin_ms,
         .to = std::min(span.end_ms, panel.end_ms) - panel.begin_ms,
         .part = verb_of(span.name).part,
         .tip = fmt::format("{}: {:.4g} ms", span.name, span.end_ms - span.begin_ms),
         .labels = labels_of(span.name)});
  }
  if (lanes.size() > kMostLanes) {
    fail("{} lanes are too many for one picture, which holds at most {}", lanes.size(), kMostLanes);
  }
  std::vector<drawing::Row> rows;
  for (auto& [lane, bars] : lanes) {
    rows.push_back(
        {drawing::Owner::coloured(-1, name_of(trace, lane)), {{.bars = std::move(bars)}}});
  }
  return rows;
}

}  // namespace

drawing::Plot plot_timeline(std::span<const TimelineTrace> traces,
                            const std::vector<std::string>& within) {
  const std::vector<Panel> panels = panels_of(traces, within);
  double longest_ms = 1e-6;
  for (const Panel& panel : panels) {
    longest_ms = std::max(longest_ms, panel.end_ms - panel.begin_ms);
  }
  drawing::Plot plot;
  std::set<int> parts;
  std::vector<drawing::RowChart> charts;
  for (const Panel& panel : panels) {
    const drawing::Axis axis{.place = [=](double ms) { return ms / longest_ms; },
                             .ticks = drawing::round_numbers(0, longest_ms, longest_ms / 12),
                             .label = [](double ms) { return drawing::short_number(ms); }};
    charts.push_back({.rows = rows_of(panel),
                      .panels = {{.axis = axis, .title = "ms", .width = 900}},
                      .legend = {},
                      .heading = panel.title});
    for (const drawing::Row& row : charts.back().rows) {
      plot.drawn += row.entries.front().bars.size();
      for (const drawing::Bar& bar : row.entries.front().bars) parts.insert(bar.part);
    }
    if (plot.drawn > kMostSpans) {
      fail("more than {} spans are too many for one picture; choose a part with --within",
           kMostSpans);
    }
  }
  if (plot.drawn == 0) fail("there is nothing to plot: no span has a duration");
  for (const Verb& verb : kVerbs) {
    if (!parts.contains(verb.part)) continue;
    charts.front().legend.push_back(
        {drawing::Shape::kPart, verb.part, verb.word.empty() ? "other" : std::string(verb.word)});
  }
  std::vector<drawing::Drawing> drawings;
  for (const drawing::RowChart& chart : charts) drawings.push_back(row_chart(chart));
  plot.picture = drawing::titled("Timeline", drawings);
  return plot;
}

}  // namespace strata::scoring
