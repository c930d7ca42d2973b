// Timelines as Chrome trace JSON, for ui.perfetto.dev or chrome://tracing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/timing.h"
#include "comm/communicator.h"
#include "comm/order/operation_times.h"

namespace strata::training {

struct TimelineSpan {
  std::optional<comm::Lane> lane;  // absent: a whole step
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Returns an operation's name: "backward layer_3", "clip 2". `blocks` are the names of the model's
// blocks.
std::string name_in_timeline(comm::Operation::Kind kind, int object,
                             std::span<const std::string> blocks);

// Returns a rank's events, each with a comma and a newline behind it: its whole steps, and their
// operations by lane. `origin_ns` is subtracted from all times.
std::string timeline_events(int rank, const std::string& rank_name,
                            std::span<const TimelineSpan> spans, int64_t origin_ns = 0);
// Writes what timeline_events() returned for each rank, one after another. Throws Error if the file
// cannot be written.
void write_timeline(const std::filesystem::path& path, std::string events);

// Collects spans on this rank's clock, and writes those of all ranks.
class Timeline {
 public:
  // Times start when all ranks leave a barrier here. Times of several machines agree up to the
  // barrier's latency. All ranks construct together.
  explicit Timeline(comm::Communicator& communicator);

  void add_step(std::string name, Clock::time_point begin, Clock::time_point end);
  // Times are in ns of std::chrono::steady_clock.
  void add(comm::Lane lane, std::string name, int64_t begin_ns, int64_t end_ns);
  // `blocks` are the names of the model's blocks.
  void add(std::span<const comm::OperationTime> operations,
           std::span<const std::string> blocks = {});

  // Writes every rank's spans to one file, on rank 0. All ranks call together. Throws Error if it
  // cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  comm::Communicator& communicator_;
  int64_t origin_ns_ = 0;
  std::vector<TimelineSpan> spans_;
};

}  // namespace strata::training
