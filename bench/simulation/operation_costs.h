// The cost of each operation of a step, from a device's speeds and a network.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bert/config.h"
#include "comm/buckets/bucket_plan.h"
#include "comm/order/simulation.h"
#include "config/run_config.h"
#include "plan/forms/network.h"
#include "training/schedules/step_list.h"

namespace strata::bench {

inline constexpr double kGradientBytes = 4;  // of an element: gradients are f32

// Bytes per element that an optimizer's update reads and writes, each array once.
struct UpdateBytes {
  double update = 0;
  double finish = 0;  // LAMB's second pass, which needs norms of the first
};
UpdateBytes update_bytes(config::OptimizerKind optimizer, int64_t compute_bytes);

struct DeviceSpeed {
  double flops_per_second = 0;  // in GEMMs and attention
  // Memory bandwidth of norms, clipping, conversion and updates. If 0, they take no time.
  double bytes_per_second = 0;
  double step_seconds = 0;     // constant seconds of a step, before its first operation
  double message_seconds = 0;  // seconds that a message takes in addition to the network's
};

// FLOPs of a micro-batch.
struct BlockFlops {
  double layer = 0;  // of one layer, forward and backward
  // The heads' forward includes the classifier's gradients, which do not wait for backward.
  double heads_forward = 0, heads_backward = 0;

  double all(const bert::BertConfig& model) const {
    return layer * static_cast<double>(model.layers) + heads_forward + heads_backward;
  }
};
BlockFlops block_flops(const bert::BertConfig& model, const std::vector<int32_t>& lengths);

inline constexpr int64_t kLongestSample = 512;  // tokens, of MLPerf's Wikipedia
// Returns the lengths of so many sequences, ascending: means of equal parts of MLPerf Wikipedia's
// mix, cut at `longest`.
std::vector<int32_t> typical_lengths(int64_t sequences, int32_t longest);

// A stage, or a rank with the whole model.
struct CostInput {
  const config::RunConfig& config;
  const bert::BertConfig& model;
  const training::StepPlan& plan;
  const comm::BucketPlan& buckets;
  const comm::OperationList& list;
  std::vector<int32_t> lengths;  // [sequences] of every micro-batch
  int64_t compute_bytes = 2;     // of an element of gathered weights and of the data between stages
  DeviceSpeed device;
  // Measured seconds of operations without other ranks, by their names in a timeline. They replace
  // times computed from `device`; for buckets only with one stage and one round of reductions.
  std::map<std::string, double> durations = {};
  plan::Network network;
  int replicas = 1;     // ranks that reduce together
  int stages = 1;       // ranks of a replica
  int replica = 0;      // which of several simulated replicas the rank belongs to
  double slowness = 1;  // factor of the time to compute
};

// [operations] Without DeviceSpeed::step_seconds. Communicators and messages are numbered alike for
// all ranks of a job.
std::vector<comm::OperationCost> operation_costs(const CostInput& input);

}  // namespace strata::bench
