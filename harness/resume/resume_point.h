// Where in its run an experiment was when a checkpoint was taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/record/result_tree.h"

namespace strata::harness {

struct ResumePoint {
  uint64_t seed = 0;
  int64_t step = 0;           // trained last
  int64_t samples = 0;        // trained on
  int64_t block_begin = 0;    // in samples, of the block that the log has open
  double accuracy = 0;        // of the last evaluation
  int64_t train_samples = 0;  // of the data
  int64_t eval_samples = 0;
  uint32_t data_checksum = 0;
  uint64_t log_bytes = 0;     // that the log had
  uint32_t log_checksum = 0;  // CRC-32C of these
};

// The note that goes with a checkpoint, and back; nothing for other text.
std::string to_note(const ResumePoint& point);
std::optional<ResumePoint> parse_note(const std::string& note);

// Whether a log begins as it was at `point`.
bool begins_as_at(const std::filesystem::path& log, const ResumePoint& point);
// The latest time, in milliseconds since 1970, that an interrupted run has logged. Its log may have
// been cut back to `point` before, by a job that was interrupted at once; the copy has the rest.
int64_t latest_logged_ms(const ResultTree& tree, int experiment, const ResumePoint& point);
// Copies such a log aside and cuts it back to `point`, so that what was trained after it is not in
// it twice. Returns the copy's path. Throws Error where it cannot be written.
std::filesystem::path rewind_log(const ResultTree& tree, int experiment, const ResumePoint& point);

}  // namespace strata::harness
