#include "report/sections/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "scoring/minutes.h"
#include "scoring/plots/plot_parts.h"

namespace strata::report {

Picture picture_of(const drawing::Chart& chart) {
  return {xy_chart(chart), xy_chart(drawing::for_narrow_screens(chart))};
}

Picture picture_of(drawing::RowChart chart) {
  Picture picture{.wide = row_chart(chart), .narrow = {}, .has_rows = true};
  chart.width = drawing::kNarrowWidth;
  picture.narrow = row_chart(chart);
  return picture;
}

std::string figure(const std::string& benchmark, const std::string& caption, const Picture& picture,
                   const drawing::Words& words, const Data& data) {
  const std::string link =
      data.rows.empty() ? "" : "<p class=\"tools\">" + data_link(data) + "</p>";
  return fmt::format("<figure class=\"{}\"{}><figcaption>{}</figcaption>\n{}{}{}</figure>\n",
                     picture.has_rows ? "rows" : "plane", owner_attributes(-1, benchmark),
                     escape(caption, 1000), in_page(picture.wide, words, "wide"),
                     in_page(picture.narrow, words, "narrow"), link);
}

std::string in_rows(std::string figures) {
  return figures.empty() ? "" : "<div class=\"figures\">" + std::move(figures) + "</div>\n";
}

Picture bar_chart(const std::vector<BarRow>& rows, const std::vector<std::string>& part_names,
                  const std::string& axis_title) {
  drawing::RowChart chart;
  std::vector<double> totals;
  for (const BarRow& row : rows) {
    drawing::Entry entry{.bars = drawing::stacked(row.parts, part_names)};
    entry.note = row.note;
    totals.push_back(entry.bars.empty() ? 0 : entry.bars.back().to);
    chart.rows.push_back({row.owner, {std::move(entry)}});
  }
  chart.panels = {{drawing::linear_axis(totals, true), axis_title}};
  chart.legend = drawing::keys_of_parts(part_names);
  return picture_of(std::move(chart));
}

std::string paragraph(const std::string& text) { return "<p>" + escape(text, 4000) + "</p>\n"; }

std::string heading(const std::string& text) { return "<h3>" + escape(text) + "</h3>\n"; }

std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 60)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || !name.ends_with('-')) name += plain ? c : '-';
  }
  return name;
}

std::vector<const ReportedFolder*> folders_of(const ReportData& data,
                                              const std::string& benchmark) {
  std::vector<const ReportedFolder*> folders;
  for (const ReportedFolder& folder : data.folders) {
    if (folder.group == benchmark) folders.push_back(&folder);
  }
  return folders;
}

size_t runs_without_end(const ReportedFolder& folder) {
  return static_cast<size_t>(
      std::ranges::count_if(folder.runs, [](const ReportedRun& run) { return !run.has_ended; }));
}

bool awaits_runs(const ReportedFolder& folder) {
  const size_t ended = folder.runs.size() - runs_without_end(folder);
  return ended < static_cast<size_t>(std::max(folder.score.runs_needed, 1));
}

std::optional<double> accelerators_of(const scoring::Score& score) {
  const int64_t number = score.system.accelerators.value_or(0);
  return number > 0 ? std::optional(static_cast<double>(number)) : std::nullopt;
}

std::optional<double> accelerator_minutes_of(const scoring::Score& score) {
  const std::optional<double> accelerators = accelerators_of(score);
  if (!score.time_to_train_ms || !accelerators) return std::nullopt;
  return *score.time_to_train_ms / scoring::kMsPerMinute * *accelerators;
}

std::string accelerators_in_words(const scoring::Score& score) {
  if (!accelerators_of(score) || score.system.accelerator.empty()) return "";
  return fmt::format("{} x {}", *score.system.accelerators, score.system.accelerator);
}

Owner named_with_accelerators(const ReportedFolder& folder) {
  Owner owner = folder.owner;
  const scoring::SystemFacts& system = folder.score.system;
  owner.detail = scoring::accelerators_in_short(system.accelerators, system.accelerator);
  return owner;
}

std::string benchmark_name(const std::string& benchmark) {
  return benchmark.empty() ? "a benchmark without a name" : benchmark;
}

std::string target_in_words(const std::vector<const ReportedFolder*>& folders) {
  for (const ReportedFolder* folder : folders) {
    if (folder->score.target) return fmt::format("target {}", short_number(*folder->score.target));
  }
  return "";
}

bool is_bert(const std::string& group) { return group == "bert" || group.starts_with("bert, "); }

std::string unit_of_samples(const std::string& benchmark) {
  return is_bert(benchmark) ? "samples" : "epochs or samples, as logged";
}

}  // namespace strata::report
