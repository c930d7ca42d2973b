// The sections of a report. Each turns the data into its part of the page.
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

// Shows runs that have not ended, and how far they are.
Section running_section(const ReportData& data);
// Compares systems: the score, and the spread of runs. `watched`: runs without an end count as
// running.
Section results_section(const ReportData& data, bool watched);
// Shows accuracy over time and over samples.
Section accuracy_section(const ReportData& data);
// Shows time to train over accelerators, and samples per second of an accelerator and of a watt.
Section speed_section(const ReportData& data);
// Shows the phases of runs, and of their steps.
Section time_section(const ReportData& data);
// Shows samples to converge beside the reference points from `rcp_directory` (empty: built in).
Section reference_section(const ReportData& data, const std::filesystem::path& rcp_directory);
// Lists what does not count or could not be read, and why.
Section checks_section(const ReportData& data, bool watched);
// Lists settings in which folders of a benchmark differ.
Section settings_section(const ReportData& data);
// Shows the predictions of `strata plan --json` beside the results. Throws Error for another file.
Section plan_section(const ReportData& data, const std::vector<std::filesystem::path>& plans);
// Compares outputs of `strata bench ... --json`. Throws Error for another file.
Section measurements_section(const std::vector<std::filesystem::path>& files);

// ---- Parts of sections

// A chart in one layout for wide screens and one for narrow ones.
struct Picture {
  drawing::Drawing wide, narrow;
  bool has_rows = false;
};
Picture picture_of(const drawing::Chart& chart);
Picture picture_of(drawing::RowChart chart);
// Returns a picture with its caption and a link to its data, if any. If `benchmark` is empty, the
// picture belongs to none.
std::string figure(const std::string& benchmark, const std::string& caption, const Picture& picture,
                   const drawing::Words& words, const Data& data);
// Sets figures that have rows in two columns on printed pages.
std::string in_rows(std::string figures);
// Stacked bars, one row each, with a note at the right.
struct BarRow {
  Owner owner;
  std::vector<double> parts;  // one per name, each at least 0
  std::string note;
};
Picture bar_chart(const std::vector<BarRow>& rows, const std::vector<std::string>& part_names,
                  const std::string& axis_title);
std::string paragraph(const std::string& text);  // escapes the text
std::string heading(const std::string& text);

// Returns a file name: letters, digits and hyphens.
std::string file_name(const std::string& text);

// Returns the folders of a group, in order. From here on, `benchmark` is the name of a group.
std::vector<const ReportedFolder*> folders_of(const ReportData& data, const std::string& benchmark);
size_t runs_without_end(const ReportedFolder& folder);
// Returns whether fewer runs have ended than a submission needs, so that it is too early to sum
// them up.
bool awaits_runs(const ReportedFolder& folder);
// Returns the system's accelerators, or nullopt if it has none.
std::optional<double> accelerators_of(const scoring::Score& score);
std::optional<double> accelerator_minutes_of(const scoring::Score& score);
// Returns "8 x NVIDIA A100", or an empty text if it has none.
std::string accelerators_in_words(const scoring::Score& score);
// Returns the folder's owner, named "Acme big, 8 A100" if the accelerators are known.
Owner named_with_accelerators(const ReportedFolder& folder);
// Returns a name like "bert", or a placeholder for a group without a name.
std::string benchmark_name(const std::string& benchmark);
// Returns "target 0.72", or an empty text if no log of a group names its target.
std::string target_in_words(const std::vector<const ReportedFolder*>& folders);
// Returns whether a group's benchmark is BERT.
bool is_bert(const std::string& group);
// Returns "samples", or "epochs" if logs count these.
std::string unit_of_samples(const std::string& benchmark);

}  // namespace strata::report
