// What ranks did when, as a picture: Chrome trace JSON, for ui.perfetto.dev or chrome://tracing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/timing.h"
#include "comm/buckets/bucket_events.h"
#include "comm/communicator.h"

namespace strata::training {

// Lanes of a rank, from top to bottom.
enum class Lane : uint8_t {
  kStep,       // whole steps
  kCompute,    // forward, backward
  kGradients,  // the gradient engine's work on the device: clip, norm, update
  kReduce,     // all-reduces
  kGather,     // gathering of updated weights
};

// Spans of time on this rank's clock.
class Timeline {
 public:
  // Times start where all ranks leave a barrier here, so that ranks of several machines line up
  // but for its latency. All ranks construct together.
  explicit Timeline(comm::Communicator& communicator);

  void add(Lane lane, std::string name, Clock::time_point begin, Clock::time_point end);
  // In ns of that clock.
  void add(Lane lane, std::string name, int64_t begin_ns, int64_t end_ns);
  // A finished step of the gradient engine.
  void add(std::span<const comm::BucketEvent> events);

  // Writes every rank's spans as one file, on rank 0; all ranks call together. Throws Error where
  // it cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  struct Span {
    Lane lane = Lane::kStep;
    std::string name;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };

  std::string to_json_events() const;

  comm::Communicator& communicator_;
  int64_t origin_ns_ = 0;
  std::vector<Span> spans_;
};

}  // namespace strata::training
