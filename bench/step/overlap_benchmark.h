// Measures how much of the gradients' communication computing hides, for every clip mode.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/emulated/slow_link.h"
#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct OverlapOptions {
  int steps = 7;                   // measured steps per mode, after one not measured
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  // The network: an emulated link, or the real one if absent. If the link's speed is 0, it is the
  // speed at which communication takes `communication_share` of backward.
  std::optional<comm::Link> link = comm::Link{};
  double communication_share = 1.0;
  std::filesystem::path timeline;  // shows the last step of every mode; empty: none
  std::function<void(size_t done, size_t total)> progress;  // counts rounds through all modes
};

// Medians over steps of the slowest rank, in seconds.
struct ModeOverlap {
  // The clip mode's name. ", not synced" is added if ranks do not sync overflows, as
  // model.precision fp16 needs.
  std::string name;
  double step = 0;               // whole step
  double backward = 0;           // the last micro-batch's, which hides communication
  double communication = 0;      // all-reduces, or their halves
  double exposed = 0;            // the part that nothing hides (comm::StepTimes)
  double step_without_link = 0;  // the same ranks in turn with these, without exchange

  // Returns by which share communication makes a step longer.
  double step_increase() const { return step / step_without_link - 1; }
  double hidden_share() const { return communication > 0 ? 1 - exposed / communication : 1; }
};

struct OverlapBenchmark {
  std::string device;
  int ranks = 1;
  int64_t tokens = 0;  // tokens per step, over all ranks
  int64_t buckets = 0;
  double bytes = 0;                // gradient bytes per step, in the reduced dtype
  std::optional<comm::Link> link;  // the emulated link
  std::vector<ModeOverlap> modes;
};

// Measures every clip mode, and for Adam the last one with sharded state, too, step by step in
// turn, on synthetic batches. All ranks call together. Throws Error for one rank, which has nobody
// to communicate with.
OverlapBenchmark benchmark_overlap(const config::RunConfig& config, const OverlapOptions& options,
                                   const training::Ranks& ranks);

}  // namespace strata::bench
