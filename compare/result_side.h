// Sides that are result folders: their runs, scores, and the sources of a difference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/run_phases.h"
#include "scoring/score.h"

namespace strata::compare {

// A result folder with the phases of its runs.
struct MeasuredFolder {
  scoring::Score score;
  std::vector<std::optional<RunPhases>> phases;  // one per run; empty if its log has none
};

// The folders of one system, by benchmark.
struct ResultSide {
  std::string name;
  std::map<std::string, MeasuredFolder> folders;
};

// Reads all result folders under `directory`, as score_directory does. Throws Error if it holds two
// folders of one benchmark, because these are several systems.
ResultSide read_result_side(const std::filesystem::path& directory,
                            const scoring::ScoreOptions& options);

// Returns a comparison for each benchmark that both sides have. Throws Error if there is none.
std::vector<Comparison> compare_results(const ResultSide& base, const ResultSide& other);

}  // namespace strata::compare
