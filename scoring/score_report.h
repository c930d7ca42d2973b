// Scores as text: a table for people, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "scoring/score.h"

namespace strata::scoring {

// Returns a row per result folder, then notes in groups: runs that do not count and why, means that
// are plain, how scores were scaled.
std::string score_table(const std::vector<Score>& scores);
// Returns a header line, then one line per result folder. Times are in minutes, energy in joules.
std::string score_csv(const std::vector<Score>& scores);
// Returns an array with an object per result folder, including its runs. Times are in milliseconds.
std::string score_json(const std::vector<Score>& scores);

}  // namespace strata::scoring
