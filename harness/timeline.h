// What ranks did when, as a picture: Chrome trace JSON, for ui.perfetto.dev or chrome://tracing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/timing.h"
#include "bert/parameters.h"
#include "comm/bucket_events.h"
#include "comm/communicator.h"

namespace strata::harness {

// Lanes of a rank, from top to bottom.
enum class Lane : uint8_t {
  kStep,       // whole steps
  kCompute,    // forward, backward
  kGradients,  // the gradient engine's work on the device: clip, norm, update
  kReduce,     // all-reduces
  kGather,     // gathering of updated weights
};

// Spans of time on this rank's clock. Where a backend runs ahead
// of the host, compute spans are when work was issued.
class Timeline {
 public:
  // Times start where all ranks leave a barrier here, so that ranks of several machines line up
  // but for its latency. All ranks construct together.
  explicit Timeline(comm::Communicator& communicator);

  void add(Lane lane, std::string name, Clock::time_point begin, Clock::time_point end);
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

  void add(Lane lane, std::string name, int64_t begin_ns, int64_t end_ns);
  std::string to_json_events() const;

  comm::Communicator& communicator_;
  int64_t origin_ns_ = 0;
  std::vector<Span> spans_;
};

// Adds a compute span for every group of parameters as backward finishes it.
class BackwardSpans {
 public:
  // Backward begins now. `timeline` null: nothing is added.
  BackwardSpans(Timeline* timeline, const bert::ParameterLayout& layout);
  // The gradients up to arena element `end` are final.
  void group_final(int64_t end);

 private:
  Timeline* timeline_;
  const bert::ParameterLayout& layout_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace strata::harness
