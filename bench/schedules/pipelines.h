// Measures pipelines over the same network: stages' waits for each other, and their messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/schedules/closed_forms.h"
#include "bench/schedules/section.h"

namespace strata::bench {

// Times of a replica in a step, in seconds.
struct ReplicaTimes {
  double span = 0;    // time until stage 0 ends its last backward
  double layers = 0;  // forward and backward of a stage's layers, mean over stages but the first
  double heads = 0;   // extra time of stage 0, which has heads and embeddings
};
// Returns the times of the replica with the longest span: replicas have different samples, so one
// may have more to compute. `spans` and `compute` have a value per rank; neighbours form a replica.
ReplicaTimes slowest_replica(std::span<const double> spans, std::span<const double> compute,
                             int stages);

// Medians over steps, in seconds and bytes.
struct PipelineMeasurement {
  std::string name;  // "contiguous, 2 stages"
  bert::Pipeline pipeline = bert::Pipeline::kModular;
  int stages = 1;
  double step = 0;       // time of the slowest rank
  ReplicaTimes slowest;  // the slowest replica's times
  double waiting = 0;    // a stage's wait for messages, mean over stages
  // The slowest replica's span / its `layers` - 1. Formula: bubble_with(parts).
  Compared bubble;
  BubbleParts parts;
  // Bytes sent in the last step, over all ranks; the same in all steps with as many tokens.
  int64_t message_bytes = 0, message_bytes_formula = 0;
  // Bytes for all micro-batches, over all ranks. Formula: activation_bytes().
  Compared activations;
};

struct Pipelines {
  std::vector<PipelineMeasurement> pipelines;
  std::vector<Skipped> skipped;
};

// Measures both pipelines in turn, with parallel.stages stages, or if that is 1 with every number
// above 1 that divides the ranks. All ranks call together.
Pipelines measure_pipelines(const SectionSetup& setup);

}  // namespace strata::bench
