// An experiment's position in its run when a checkpoint was taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/record/result_tree.h"

namespace strata::harness {

struct ResumePoint {
  uint64_t seed = 0;
  int64_t step = 0;           // the last trained step
  int64_t samples = 0;        // trained samples
  int64_t block_begin = 0;    // first sample of the block that is open in the log
  double accuracy = 0;        // accuracy of the last evaluation
  int64_t train_samples = 0;  // samples of the training set
  int64_t eval_samples = 0;
  uint32_t data_checksum = 0;
  uint64_t log_bytes = 0;     // size of the log
  uint32_t log_checksum = 0;  // CRC-32C of the log
};

// Convert to and from the note in a checkpoint. parse_note returns nullopt for other text.
std::string to_note(const ResumePoint& point);
std::optional<ResumePoint> parse_note(const std::string& note);

// Returns whether a log begins with the contents that it had at `point`.
bool begins_as_at(const std::filesystem::path& log, const ResumePoint& point);
// Returns the latest time, in milliseconds since 1970, that an interrupted run has logged. An
// earlier job may have cut its log back to `point`; the archived copy then has the rest.
int64_t latest_logged_ms(const ResultTree& tree, int experiment, const ResumePoint& point);
// Archives copies of log and step trace and cuts the log back to `point`, so that no event occurs
// twice. Returns the path of the log's copy. Throws Error if a file cannot be written.
std::filesystem::path rewind_log(const ResultTree& tree, int experiment, const ResumePoint& point);

}  // namespace strata::harness
