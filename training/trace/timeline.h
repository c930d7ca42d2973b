// A timeline of all ranks as Chrome trace JSON, for ui.perfetto.dev or chrome://tracing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/timing.h"
#include "comm/communicator.h"
#include "comm/order/operation_times.h"

namespace strata::training {

// Spans of time on this rank's clock: whole steps, and below them their operations by lane.
class Timeline {
 public:
  // Times start when all ranks leave a barrier here, so that ranks of several machines line up
  // within its latency. All ranks construct together.
  explicit Timeline(comm::Communicator& communicator);

  void add_step(std::string name, Clock::time_point begin, Clock::time_point end);
  // Times are in ns since the timeline's start.
  void add(comm::Lane lane, std::string name, int64_t begin_ns, int64_t end_ns);
  // `blocks` are the names of the model's blocks.
  void add(std::span<const comm::OperationTime> operations,
           std::span<const std::string> blocks = {});

  // Writes every rank's spans to one file, on rank 0. All ranks call together. Throws Error if it
  // cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  struct Span {
    size_t row = 0;
    std::string name;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };

  void add(size_t row, std::string name, int64_t begin_ns, int64_t end_ns);
  std::string to_json_events() const;

  comm::Communicator& communicator_;
  int64_t origin_ns_ = 0;
  std::vector<Span> spans_;
};

}  // namespace strata::training
