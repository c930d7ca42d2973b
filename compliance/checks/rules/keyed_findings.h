// The book-keeping of the official checker, which decides how many errors a log has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compliance/checks/rules/finding.h"
#include "mllog/log_reader.h"

namespace strata::compliance {

inline constexpr uint64_t kNoOffset = ~uint64_t{0};  // stands for no line of the log

// Findings by key in order of first appearance. A later one replaces an earlier one.
class KeyedFindings {
 public:
  // `offset`: the byte of the log that the finding is about. Its line is only counted if the
  // finding stays.
  void put(Finding finding, uint64_t offset = kNoOffset);
  void erase(const std::string& key);
  // Moves all findings out, with their lines and summaries.
  std::vector<Finding> all(const mllog::LogReader& log);

 private:
  struct Kept {
    Finding finding;  // the summary is empty if a check failed
    uint64_t offset;
  };
  std::vector<Kept>::iterator find(const std::string& key);

  std::vector<Kept> findings_;
};

}  // namespace strata::compliance
