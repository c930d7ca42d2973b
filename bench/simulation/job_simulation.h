// Simulates a step of a job with any number of ranks, from the lists of operations that they run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/simulation/operation_costs.h"
#include "bert/config.h"
#include "comm/order/simulation.h"
#include "config/run_config.h"
#include "plan/forms/network.h"
#include "training/schedules/step_list.h"
#include "training/trace/timeline.h"

namespace strata::bench {

struct JobInput {
  const config::RunConfig& config;  // device.backend decides whether threads or streams run a step
  const bert::BertConfig& model;
  int ranks = 1;
  std::vector<int32_t> lengths;  // [sequences] of every micro-batch of every rank
  int64_t compute_bytes = 2;     // see CostInput
  DeviceSpeed device;
  std::map<std::string, double> durations = {};  // see CostInput
  plan::Network network;
  // Factor of one replica's time to compute; 1: all are equally fast.
  double slowest = 1;
  double compute_speed_in_collectives = 1;  // see comm::SimulationOptions
};

// Ranks simulated as one, see comm::SimulatedRank.
struct EqualRanks {
  std::string name;  // "all 8 ranks", "stage 1 of 4", "slow replica, stage 1 of 4"
  training::StepPlan plan;
  comm::OperationList list;
  std::vector<comm::OperationCost> costs;  // [operations]
  std::vector<comm::SimulatedSpan> spans;  // [operations]
  double end_of_backward = 0, end = 0;     // in seconds

  std::vector<training::TimelineSpan> timeline(const std::string& step_name) const;
};

// In seconds, of the ranks that end last; the slow replica if several end at once.
struct JobSimulation {
  double step = 0;
  double backward_end = 0;  // from the step's start
  comm::StepTimes times;
  // Closed form of times.exposed_communication_seconds (plan::exposed_communication), without
  // norms, clipping, conversion and updates. Absent for several stages, sharding and tied rows.
  std::optional<double> exposed_formula;
  int buckets = 0;
  std::vector<EqualRanks> ranks;
};

// Throws Error with the key to change if the configuration does not suit so many ranks.
JobSimulation simulate_job(const JobInput& input);

}  // namespace strata::bench
