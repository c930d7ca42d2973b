// A round's results in the format of MLCommons' summarizer: a row per system, with its columns.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scoring/score.h"

namespace strata::scoring {

// Empty if a system has no such result.
using SummaryCell = std::variant<std::monostate, std::string, int64_t, double>;

struct SummaryTable {
  std::vector<std::string> columns;
  std::vector<std::vector<SummaryCell>> rows;  // sorted by their cells, from the first on
};

struct Summary {
  std::string usage, ruleset;
  SummaryTable strong;                // minutes of each benchmark; for HPC those of strong scaling
  SummaryTable detailed;              // the same with further metrics
  SummaryTable weak;                  // HPC: models, accelerators per model and minutes for all
  std::vector<std::string> left_out;  // systems and folders that are in no table, and why
};

// Returns every system of the scores' submissions, even without results. `make_private_ids` writes
// a privateid.json for systems without one. Throws Error if the scores belong to several rounds or
// to no submission.
Summary summarize(const std::vector<Score>& scores, bool make_private_ids = false);

// Returns a header, then one line per row; the table of weak scaling follows with its own header.
std::string summary_csv(const Summary& summary, bool detailed);
// Returns an array with an object per row.
std::string summary_json(const Summary& summary, bool detailed);
// Returns a workbook with a sheet for the closed division, one for the open and, if there are such
// rows, one for others; weak scaling has the same sheets. Throws Error as workbook() does.
std::string summary_xlsx(const Summary& summary, bool detailed);
// Returns text for people: a block per row, without its empty columns.
std::string summary_text(const Summary& summary, bool detailed);

}  // namespace strata::scoring
