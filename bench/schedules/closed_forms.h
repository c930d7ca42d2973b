// Closed forms, mostly from the literature, of the cost of schedules.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/schedules/section.h"
#include "bert/model/model.h"
#include "config/run_config.h"
#include "plan/forms/step_forms.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

using plan::exposed_communication;

// Symbols: T tokens, M masked positions, L layers, H hidden, I intermediate, A heads; c and m are
// bytes of the compute and the master dtype. Data between blocks takes (L + 2) T H c. A layer keeps
// T (8 H + 2 I) c - T H c of its output + T (A + 2) m; embeddings T H c + T m; heads 6 M H c. All
// this is needed for every micro-batch in flight. A stage has only its own blocks, and the data
// between these and others. If backward is delayed, blocks without delay have memory for one
// micro-batch only.
double activation_bytes(const bert::Model& model);
// Returns the measured bytes and activation_bytes(), both summed over the ranks. All call together.
Compared activations_of_all_ranks(const training::Ranks& ranks, const bert::Model& model);

// Returns the time that a stage waits over the time that it works (Lamy-Poirier, arXiv 2106.02679):
// (P - 1) / n contiguous, (P - 1) / (n L / P) modular.
double bubble_share(bert::Pipeline pipeline, int stages, int64_t layers, int micro_batches);

using plan::bubble_with;
using plan::BubbleParts;

// Returns the bytes that a stage sends in a step: 2 R T H c, for R runs of layers on it (1
// contiguous, L / P modular) and T tokens of all micro-batches.
int64_t message_bytes(bert::Pipeline pipeline, int stages, const bert::BertConfig& model,
                      int64_t tokens, device::DType compute);

// The seconds of each rank's forward and backward in a ring of modules.
struct ModuleSeconds {
  std::vector<double> forward, backward;
};
// Returns the seconds of a step of the ring without messages (Yang et al., arXiv 1909.06695): sum F
// + sum B, or with delayed backward sum F + max over ranks of sum B.
double ring_seconds(const ModuleSeconds& seconds, bool delayed);

// Bytes and memory of ZeRO stages 1 to 3 (Rajbhandari et al. 2020), with gather groups that share
// memory (docs/methods/sharding.md). Both are sums over all ranks.
class ShardingForms {
 public:
  // Describes one step of `model`. Every rank must have all its blocks.
  ShardingForms(const config::RunConfig& config, const bert::Model& model, int ranks);

  int64_t bytes_sent() const;
  training::ParameterMemory memory() const;

 private:
  // Returns the elements gathered in a step if weights are sharded.
  int64_t gathered_elements() const;

  const config::RunConfig& config_;
  int64_t ranks_;
  int64_t parameters_, words_;
  int64_t norms_ = 0;  // pairs of norms that LAMB needs
  int64_t first_group_, last_group_;
  std::vector<int64_t> inner_groups_;  // in the order of backward
  int64_t gradient_bytes_, master_bytes_, compute_bytes_, rounding_bytes_;  // bytes per element
  int64_t rounds_;
};

}  // namespace strata::bench
