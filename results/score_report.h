// Scores as text: a table for people, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "results/score.h"

namespace strata::results {

// A row a result folder, then the notes, grouped: which runs do not count and why, which means are
// plain, how scores were scaled.
std::string score_table(const std::vector<Score>& scores);
// A header line, then a line a result folder. Times in minutes, energy in joules.
std::string score_csv(const std::vector<Score>& scores);
// An array with an object a result folder, its runs included. Times in milliseconds.
std::string score_json(const std::vector<Score>& scores);

}  // namespace strata::results
