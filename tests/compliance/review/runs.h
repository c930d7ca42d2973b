// Makes records of runs without logs.
#pragma once

#include <string>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

inline constexpr double kDay0 = 1.7e12;
inline constexpr double kMinute = 6e4;

// Returns result_`number`.txt of a run that started `start` minutes after some day and took
// `minutes`.
inline RunRecord run_of(int number, double start, double minutes, bool success = true) {
  RunRecord run;
  run.path = "bert/result_" + std::to_string(number) + ".txt";
  run.run_start = Moment{kDay0 + start * kMinute, 100};
  run.run_stop = Moment{kDay0 + (start + minutes) * kMinute, 900};
  run.success = success;
  return run;
}

inline std::vector<std::string> ids_of(const std::vector<Doubt>& doubts) {
  std::vector<std::string> ids;
  for (const Doubt& doubt : doubts) ids.push_back(doubt.id);
  return ids;
}

inline std::vector<std::string> ids_of(const std::vector<ReviewFinding>& findings) {
  std::vector<std::string> ids;
  for (const ReviewFinding& finding : findings) ids.push_back(finding.id);
  return ids;
}

using Ids = std::vector<std::string>;

}  // namespace strata::compliance
