// Measures data-parallel schedules over the same network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/schedules/section.h"

namespace strata::bench {

// Medians over steps of the slowest rank, in seconds and bytes.
struct OrderMeasurement {
  std::string name;  // "micro_batch", "layer, recompute"
  double step = 0;
  double step_without_link = 0;      // the same steps in turn with these, without exchange
  double forward = 0, backward = 0;  // times of all micro-batches
  double hides = 0;                  // the part of backward that communication may overlap
  double tail = 0;                   // share of the bytes that only the last block completes
  // This and `exposed` come from the rank that computes longest, because others wait for it in
  // reductions. The formula covers the emulated link; it is 0 on a real network.
  Compared communication;
  // Communication after backward that nothing hides. Formula: exposed_communication of the buckets,
  // if layers take equal parts of backward.
  Compared exposed;
  Compared activations;   // memory of all micro-batches in flight
  double all_memory = 0;  // a rank's memory, weights and state included

  double step_increase() const { return step / step_without_link - 1; }
};

struct DataParallelOrders {
  int64_t tokens = 0;   // tokens per step, over all ranks
  int64_t buckets = 0;  // gradient buckets
  double bytes = 0;     // gradient bytes per step, in the reduced dtype
  std::vector<OrderMeasurement> orders;
  std::vector<Skipped> skipped;
};

// Runs steps of every schedule in turn. All ranks call together.
DataParallelOrders measure_data_parallel(const SectionSetup& setup);

}  // namespace strata::bench
