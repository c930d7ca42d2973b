// A run that is interrupted and resumed.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/crc32c.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/resume_point.h"
#include "tests/harness/fake_training.h"
#include "tests/support/error_of.h"

namespace strata::harness {

using testing_support::error_of;

// Evaluations after steps 3, 6 and 9, which reaches the target; checkpoints after 2, 4, 6 and 8.
class Resume : public TimeToTrainTest {
 protected:
  Resume() { config_.checkpoint.every_steps = 2; }

  // A run that fails in step `step`.
  void interrupt_at(int64_t step) {
    system_.fails_at = step;
    EXPECT_EQ(error_of([&] { run(); }), "the device is gone");
    system_.fails_at = 0;
    system_.calls.clear();
  }
  std::filesystem::path part(int64_t step) const {
    return checkpoint_folder(tree().checkpoints(0), step) / "part";
  }
  // Adds `ms` to the times of a log's lines.
  static void move_times(std::string& text, int64_t ms) {
    for (size_t at = 0; (at = text.find("\"time_ms\": ", at)) != std::string::npos;) {
      at += 11;
      constexpr size_t kDigits = 13;
      text.replace(at, kDigits, std::to_string(std::stoll(text.substr(at, kDigits)) + ms));
    }
  }
  // Makes log and checkpoints look like those of a run that was interrupted `ms` later.
  void move_log_by(int64_t ms) {
    std::string text = read_file(tree().log(0));
    move_times(text, ms);
    write_file_atomically(tree().log(0), text);
    for (const int64_t step : steps()) {  // which hold the log's checksum
      const std::string whole = read_file(part(step));
      const size_t space = whole.find(' ');
      ResumePoint point = parse_note(whole.substr(space + 1)).value();
      point.log_checksum = crc32c(text.substr(0, point.log_bytes));
      write_file_atomically(part(step), whole.substr(0, space + 1) + to_note(point));
    }
  }
  std::vector<int64_t> steps() const { return checkpoint_steps(tree().checkpoints(0)); }
  // Returns the events without those of checkpoints and of resuming.
  std::vector<std::string> without_checkpoints(std::vector<std::string> events) const {
    std::erase_if(events, [](const std::string& event) {
      return event.starts_with("checkpoint=") || event.starts_with("resumed=");
    });
    return events;
  }
};

}  // namespace strata::harness
