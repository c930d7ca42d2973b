// The cost of each operation of a step, from a device's speeds and a network.
#pragma once

#include <cstdint>
#include <vector>

#include "bert/config.h"
#include "comm/buckets/bucket_plan.h"
#include "comm/order/simulation.h"
#include "config/run_config.h"
#include "plan/forms/network.h"
#include "training/schedules/step_list.h"

namespace strata::bench {

// Bytes of an element of f32 gradients, and bytes that Adam moves an element: it reads gradient,
// weight and two moments, and writes the latter three.
inline constexpr double kGradientBytes = 4, kUpdateBytes = 28;

struct DeviceSpeed {
  double flops_per_second = 0;  // in GEMMs and attention
  // Bandwidth of norms, clipping, conversion and updates in memory. If 0, they take no time.
  double bytes_per_second = 0;
  double step_seconds = 0;     // constant seconds of a step, before its first operation
  double message_seconds = 0;  // seconds that a message takes beside those of the network
  // Bytes of an element of the weights that ranks gather, and of the data between stages.
  int64_t compute_bytes = 2;
};

// FLOPs of a micro-batch.
struct BlockFlops {
  double layer = 0;  // of one layer, forward and backward
  // The heads' forward includes the classifier's gradients, which do not wait for backward.
  double heads_forward = 0, heads_backward = 0;
};
BlockFlops block_flops(const bert::BertConfig& model, const std::vector<int32_t>& lengths);

// A stage, or a rank with the whole model.
struct CostInput {
  const config::RunConfig& config;
  const bert::BertConfig& model;
  const training::StepPlan& plan;
  const comm::BucketPlan& buckets;
  const comm::OperationList& list;
  std::vector<int32_t> lengths;  // [sequences] of every micro-batch
  DeviceSpeed device;
  plan::Network network;
  int replicas = 1;     // ranks that reduce together
  int stages = 1;       // ranks of a replica
  int replica = 0;      // which of several simulated replicas the rank belongs to
  double slowness = 1;  // factor of the time to compute
};

// [operations] Communicators and messages are numbered alike for all ranks of a job.
std::vector<comm::OperationCost> operation_costs(const CostInput& input);

}  // namespace strata::bench
