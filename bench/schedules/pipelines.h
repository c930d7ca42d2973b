// Pipelines over the same network: how long stages wait for each other, and what they send.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/schedules/closed_forms.h"
#include "bench/schedules/section.h"

namespace strata::bench {

// Of a replica in a step. Seconds.
struct ReplicaTimes {
  double span = 0;    // until stage 0 ends its last backward
  double layers = 0;  // forward and backward of a stage's layers, the mean of stages but the first
  double heads = 0;   // what stage 0, which has heads and embeddings too, takes longer
};
// The replica with the longest span: replicas have samples of their own, so that one may have more
// to compute than another. `spans`, `compute`: of every rank, neighbours a replica.
ReplicaTimes slowest_replica(std::span<const double> spans, std::span<const double> compute,
                             int stages);

// Medians over steps. Seconds, bytes.
struct PipelineMeasurement {
  std::string name;  // "contiguous, 2 stages"
  bert::Pipeline pipeline = bert::Pipeline::kModular;
  int stages = 1;
  double step = 0;       // of the slowest rank
  ReplicaTimes slowest;  // replica
  double waiting = 0;    // of a stage for what others send, the mean
  // The slowest replica's span / its `layers` - 1. Formula: bubble_with(parts).
  Compared bubble;
  BubbleParts parts;
  // Sent in the last step, over all ranks; the same in every step of equally many tokens.
  int64_t message_bytes = 0, message_bytes_formula = 0;
  // Of all micro-batches, over all ranks. Formula: activation_bytes().
  Compared activations;
};

struct Pipelines {
  std::vector<PipelineMeasurement> pipelines;
  std::vector<Skipped> skipped;
};

// Both pipelines one after another, of parallel.stages stages where that is not 1, else of every
// number above 1 that divides the ranks. All ranks call together.
Pipelines measure_pipelines(const SectionSetup& setup);

}  // namespace strata::bench
