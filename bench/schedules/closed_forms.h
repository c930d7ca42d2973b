// Closed forms, mostly the literature's, of what orders of work cost.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/schedules/section.h"
#include "bert/model/model.h"
#include "config/run_config.h"
#include "plan/step_forms.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

using plan::exposed_communication;

// T tokens, M masked positions, L layers, H hidden, I intermediate, A heads; c and m are bytes of
// the compute and the master dtype. What crosses blocks: (L + 2) T H c. A layer keeps T (8 H + 2 I)
// c - T H c of its output + T (A + 2) m; embeddings T H c + T m; heads 6 M H c. All of it for every
// micro-batch in flight. A stage has its own blocks, and what crosses to and from them. Where
// backward is delayed, blocks without delay have memory for one micro-batch only.
double activation_bytes(const bert::Model& model);
// The measured bytes and activation_bytes(), each summed over the ranks, which call together.
Compared activations_of_all_ranks(const training::Ranks& ranks, const bert::Model& model);

// Time that a stage waits over the time that it works (Lamy-Poirier, arXiv 2106.02679):
// (P - 1) / n contiguous, (P - 1) / (n L / P) modular.
double bubble_share(bert::Pipeline pipeline, int stages, int64_t layers, int micro_batches);

using plan::bubble_with;
using plan::BubbleParts;

// Bytes that a stage sends in a step: 2 R T H c, for R runs of layers on it (1 contiguous, L / P
// modular) and T tokens of all micro-batches.
int64_t message_bytes(bert::Pipeline pipeline, int stages, const bert::BertConfig& model,
                      int64_t tokens, device::DType compute);

// Seconds of forward and backward of each rank of a ring of modules.
struct ModuleSeconds {
  std::vector<double> forward, backward;
};
// Seconds of a step of the ring, without messages (Yang et al., arXiv 1909.06695): sum F + sum B;
// where backward is delayed, sum F + max over ranks of sum B.
double ring_seconds(const ModuleSeconds& seconds, bool delayed);

// ZeRO stages 1 to 3 (Rajbhandari et al. 2020), over the units that share memory
// (docs/method.md). Both are sums over all ranks.
class ShardingForms {
 public:
  // Of one step of `model`, of which every rank has all blocks.
  ShardingForms(const config::RunConfig& config, const bert::Model& model, int ranks);

  int64_t bytes_sent() const;
  training::ParameterMemory memory() const;

 private:
  // Elements gathered in a step where weights are sharded.
  int64_t gathered_elements() const;

  const config::RunConfig& config_;
  int64_t ranks_;
  int64_t parameters_, words_;
  int64_t norms_ = 0;  // pairs of them that LAMB needs
  int64_t first_unit_, last_unit_;
  std::vector<int64_t> inner_units_;  // in the order of backward
  int64_t gradient_bytes_, master_bytes_, compute_bytes_, rounding_bytes_;  // of an element
  int64_t rounds_;
};

}  // namespace strata::bench
