// The sections of a report: each takes what was read and returns its part of the page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "drawing/chart.h"
#include "drawing/picture.h"
#include "drawing/rows.h"
#include "drawing/text.h"
#include "report/runs/report_data.h"
#include "report/tables/data.h"
#include "report/tables/table.h"

namespace strata::report {

using drawing::duration;
using drawing::escape;
using drawing::Owner;
using drawing::percent;
using drawing::plain;
using drawing::short_number;

struct Section {
  std::string id, title;
  std::string html;  // empty: there is nothing to show
};

// Runs that have not ended: where they are.
Section running_section(const ReportData& data);
// Systems side by side: the score, and the spread of runs.
// `watched`: runs without an end are taken to be under way.
Section results_section(const ReportData& data, bool watched);
// Accuracy over time and over samples.
Section accuracy_section(const ReportData& data);
// Time to train over accelerators; samples a second of an accelerator and of a watt.
Section speed_section(const ReportData& data);
// What the time of runs, and of their steps, went into.
Section time_section(const ReportData& data);
// Samples to converge beside the reference points, from `rcp_directory` (empty: built in).
Section reference_section(const ReportData& data, const std::filesystem::path& rcp_directory);
// What does not count or could not be read, and why.
Section checks_section(const ReportData& data, bool watched);
// Settings in which folders of a benchmark differ.
Section settings_section(const ReportData& data);
// What `strata plan --json` predicted, beside what happened. Throws Error for another file.
Section plan_section(const ReportData& data, const std::vector<std::filesystem::path>& plans);
// What `strata bench ... --json` printed, side by side. Throws Error for another file.
Section measurements_section(const std::vector<std::filesystem::path>& files);

// ---- What they are made of

// A picture of one benchmark (empty: of none in particular), its caption and a link to its data, if
// there is some.
std::string figure(const std::string& benchmark, const std::string& caption,
                   const drawing::Drawing& chart, const drawing::Words& words, const Data& data);
// Stacked bars, a row each, with a note at the right.
struct BarRow {
  Owner owner;
  std::vector<double> parts;  // of the names, each at least 0
  std::string note;
};
drawing::Drawing bar_chart(const std::vector<BarRow>& rows,
                           const std::vector<std::string>& part_names,
                           const std::string& axis_title);
std::string paragraph(const std::string& text);  // escaped
std::string heading(const std::string& text);

// A name of a file: letters, digits and hyphens.
std::string file_name(const std::string& text);

// The folders of one benchmark, in order.
std::vector<const ReportedFolder*> folders_of(const ReportData& data, const std::string& benchmark);
size_t runs_without_end(const ReportedFolder& folder);
// Whether fewer runs have ended than a submission needs, so that nothing can be said yet of all of
// them together.
bool awaits_runs(const ReportedFolder& folder);
// Of a system that has some.
std::optional<double> accelerators_of(const results::Score& score);
// "8 x NVIDIA A100"; empty where it has none.
std::string accelerators_in_words(const results::Score& score);
// The folder's owner, called "Acme big, 8 A100" where that is known.
Owner named_with_accelerators(const ReportedFolder& folder);
// "bert", or what stands for a benchmark without a name.
std::string benchmark_name(const std::string& benchmark);
// "samples" or, where logs count so, "epochs".
std::string unit_of_samples(const std::string& benchmark);

}  // namespace strata::report
