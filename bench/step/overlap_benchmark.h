// How much of the gradients' communication hides behind computing, for every clip mode.
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
  int steps = 7;                   // measured of every mode, after one that is not
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  // The network: an emulated link of a given speed, or where that is 0 of the speed at which
  // communication takes `communication_share` of backward; absent: the real one.
  std::optional<comm::Link> link = comm::Link{};
  double communication_share = 1.0;
  std::filesystem::path timeline;  // of the last step of every mode; empty: none
  std::function<void(size_t done, size_t total)> progress;  // of rounds through all modes
};

// Medians over steps of the slowest rank. Seconds.
struct ModeOverlap {
  // The clip mode's; ", not agreed": updated without the agreement of all ranks that no gradient
  // overflowed, which model.precision fp16 needs.
  std::string name;
  double step = 0;               // whole step
  double backward = 0;           // of the last micro-batch, which communication runs beside
  double communication = 0;      // all-reduces, or their halves
  double exposed = 0;            // of these, with nothing else to do (comm::StepTimes)
  double step_without_link = 0;  // the same ranks in turn with these, but nothing is exchanged

  // What a user pays for communication: how much longer a step takes, as a share.
  double step_increase() const { return step / step_without_link - 1; }
  double hidden_share() const { return communication > 0 ? 1 - exposed / communication : 1; }
};

struct OverlapBenchmark {
  std::string device;
  int ranks = 1;
  int64_t tokens = 0;  // a step, over all ranks
  int64_t buckets = 0;
  double bytes = 0;                // of gradients a step, in the reduced dtype
  std::optional<comm::Link> link;  // as emulated
  std::vector<ModeOverlap> modes;
};

// Every clip mode, and of Adam the last with sharded state, too, step by step in turn, on synthetic
// batches. All ranks call together. Throws Error for one rank: it communicates with nobody.
OverlapBenchmark benchmark_overlap(const config::RunConfig& config, const OverlapOptions& options,
                                   const training::Ranks& ranks);

}  // namespace strata::bench
