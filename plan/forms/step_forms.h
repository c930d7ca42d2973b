// Closed forms of a step's parts: pure arithmetic, in seconds and bytes.
#pragma once

#include <cstdint>
#include <span>

namespace strata::plan {

// ---- Communication

// Returns the seconds of communication left when backward ends. Buckets are sent one after another:
// each takes `seconds` and is ready `before_end` seconds before backward ends. With a bucket per
// layer and many layers it is the larger of tail x C and C - B, for C seconds in all and B of
// backward (Lamy-Poirier, arXiv 2106.02679).
double exposed_communication(std::span<const double> seconds, std::span<const double> before_end);

// Seconds of communication, by the moment at which its gradients are complete.
struct Pieces {
  double early = 0;   // when backward begins
  double layers = 0;  // as layers end, an equal part for each
  double late = 0;    // when backward ends

  double total() const { return early + layers + late; }
};
// The same for L layers that take equal parts of backward. The rest grows linearly from layer to
// layer, so it is the largest of three: (layers) / L + late, layers + late - B (L - 1) / L, all -
// B. With many layers and nothing early: max(tail C, C - B).
double exposed_communication(const Pieces& pieces, int64_t layers, double backward);

// ---- Pipelines

// Returns the time that a stage waits over the time that it works (Lamy-Poirier, arXiv 2106.02679):
// (P - 1) / (n R). R counts the runs of consecutive layers on a stage: 1 contiguous, L / P modular.
double bubble_share(int64_t stages, int64_t runs, int64_t micro_batches);

// Additions to the layers' time of a stage, as shares of it.
struct BubbleParts {
  double paper = 0;     // bubble_share()
  double heads = 0;     // time of heads and embeddings, on stage 0
  double messages = 0;  // messages of one micro-batch through all stages and back
};
// Stage 0 takes micro-batches through the heads while it waits for the other stages, so only the
// time beyond that wait counts. Requires more micro-batches than stages, whose work hides later
// messages.
double bubble_with(const BubbleParts& parts);

// The stages of a pipeline in one direction: forward or backward.
struct PipelinePass {
  int64_t stages = 1;
  int64_t runs = 1;  // runs of layers on a stage, see bubble_share
  int64_t micro_batches = 1;
  double run = 0;        // seconds of one micro-batch through one run
  double message = 0;    // seconds of the message to the next stage
  double reduction = 0;  // seconds of the all-reduce, on the same link, after each run
};
// Returns the seconds beyond n R run. The last stage begins (P - 1) (run + message) late. A run
// occupies the link with n messages and a reduction. The next run begins when a micro-batch has
// come round, behind the reductions of the run before: P (run + message + reduction) after that run
// began. Without messages, and for n of at least P, this is the paper's (P - 1) run, which is
// bubble_share of the ideal time.
double pass_bubble(const PipelinePass& pass);

// Returns the share of backward on the rank that has the most, in a ring of K modules. The first
// rank has two modules, with heads and embeddings, which take `heads_share` of the layers' time
// (Yang et al., arXiv 1909.06695). If K does not divide the layers, modules from the second on have
// one more.
double longest_backward_share(int64_t modules, int64_t layers, double heads_share);

// Returns the bytes that a stage sends in a step: 2 R T H c, for T tokens of all micro-batches.
int64_t message_bytes(int64_t runs, int64_t tokens, int64_t hidden, int64_t element_bytes);

// ---- Memory

// Returns the bytes that a layer keeps of a micro-batch of T tokens for its backward: T (7 H + 2 I)
// c + T (A + 2) m, for hidden H, intermediate I, A heads; c and m are bytes of the compute and the
// master dtype.
double layer_activation_bytes(double tokens, double hidden, double intermediate, double heads,
                              double compute_bytes, double master_bytes);

// Returns the bytes that all blocks share for a micro-batch of T tokens: T (6 H + I) c.
double workspace_bytes(double tokens, double hidden, double intermediate, double compute_bytes);

}  // namespace strata::plan
