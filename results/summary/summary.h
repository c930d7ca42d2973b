// A round's results as MLCommons publishes them: a row a system, with its summarizer's columns.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "results/score.h"

namespace strata::results {

// Nothing where a system has no such result.
using SummaryCell = std::variant<std::monostate, std::string, int64_t, double>;

struct SummaryTable {
  std::vector<std::string> columns;
  std::vector<std::vector<SummaryCell>> rows;  // in order of their cells, from the first on
};

struct Summary {
  std::string usage, ruleset;
  SummaryTable strong;                // minutes of each benchmark; of HPC those of strong scaling
  SummaryTable detailed;              // its metrics as well
  SummaryTable weak;                  // HPC: models, accelerators a model and minutes for all
  std::vector<std::string> left_out;  // systems and folders without a place in it, and why
};

// Every system of the submissions that the scores are of, whether it has results or not. With
// `make_private_ids` those without a privateid.json get one. Throws Error where the scores are of
// several rounds or of no submission.
Summary summarize(const std::vector<Score>& scores, bool make_private_ids = false);

// A header, then a line a row; the table of weak scaling with its own header below.
std::string summary_csv(const Summary& summary, bool detailed);
// An array with an object a row.
std::string summary_json(const Summary& summary, bool detailed);
// A workbook: a sheet of the closed division's rows, one of the open's and, where there are such,
// one of others; those of weak scaling likewise. Throws Error as workbook() does.
std::string summary_xlsx(const Summary& summary, bool detailed);
// For people: a block a row, without columns that it has nothing in.
std::string summary_text(const Summary& summary, bool detailed);

}  // namespace strata::results
