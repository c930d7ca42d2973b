// What ranks did when, as a picture: Chrome trace JSON, for ui.perfetto.dev or chrome://tracing.
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

// Spans of time on this rank's clock: whole steps, and below them the lanes of their operations.
class Timeline {
 public:
  // Times start where all ranks leave a barrier here, so that ranks of several machines line up
  // but for its latency. All ranks construct together.
  explicit Timeline(comm::Communicator& communicator);

  void add_step(std::string name, Clock::time_point begin, Clock::time_point end);
  // In ns of that clock.
  void add(comm::Lane lane, std::string name, int64_t begin_ns, int64_t end_ns);
  // `blocks`: their names.
  void add(std::span<const comm::OperationTime> operations,
           std::span<const std::string> blocks = {});

  // Writes every rank's spans as one file, on rank 0; all ranks call together. Throws Error where
  // it cannot be written.
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
