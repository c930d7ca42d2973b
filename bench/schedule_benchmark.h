// Every order of work over the same network: what a step, its communication and its memory cost,
// beside what closed forms say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/emulated/slow_link.h"
#include "config/run_config.h"
#include "training/setup.h"

namespace strata::bench {

struct ScheduleOptions {
  int steps = 5;                   // measured of every order, after one that is not
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  std::optional<comm::Link> link;  // the emulated network; absent: the real one
  double sleeping_flops = 0;       // of a device that sleeps (sleeping_device.h); 0: device.backend
  std::filesystem::path timeline;  // of the last step of every order; empty: none
  std::function<void(size_t done, size_t total)> progress;  // of rounds through all orders
};

// A value that was measured and its closed form.
struct Compared {
  double measured = 0, formula = 0;

  double deviation() const { return formula != 0 ? measured / formula - 1 : 0; }
};

// Medians over steps of the slowest rank. Seconds, bytes.
struct OrderMeasurement {
  std::string name;  // "micro_batch", "layer, recompute"
  double step = 0;
  double step_without_link = 0;      // the same steps in turn with these, but nothing is exchanged
  double forward = 0, backward = 0;  // of all micro-batches
  double hides = 0;                  // of backward, what communication may run beside
  double tail = 0;                   // share of the bytes that the last block completes
  Compared communication;            // formula: over the emulated link; 0 on a real network
  // With nothing else to do, after backward. Formula: exposed_communication of the buckets, where
  // layers take equal parts of backward.
  Compared exposed;
  Compared activations;   // memory of all micro-batches in flight
  double all_memory = 0;  // of a rank, weights and state included

  double step_increase() const { return step / step_without_link - 1; }
};

// What is left of communication when backward ends: of bucket after bucket, which take `seconds`
// and are ready so long before the end. With a bucket a layer and many layers it is the larger of
// tail x C and C - B, for C seconds in all and B of backward (Lamy-Poirier, arXiv 2106.02679).
double exposed_communication(std::span<const double> seconds, std::span<const double> before_end);

struct ScheduleBenchmark {
  std::string device;
  int ranks = 1;
  int micro_batches = 1;
  int64_t tokens = 0;   // a step, over all ranks
  int64_t buckets = 0;  // of gradients
  double bytes = 0;     // of gradients a step, in the reduced dtype
  std::optional<comm::Link> link;
  std::vector<OrderMeasurement> orders;
};

// Steps of every order in turn, on synthetic batches. All ranks call together. Throws Error for one
// rank: it communicates with nobody.
ScheduleBenchmark benchmark_schedules(const config::RunConfig& config,
                                      const ScheduleOptions& options, const training::Ranks& ranks);

}  // namespace strata::bench
