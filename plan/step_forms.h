// Closed forms of a step's parts: pure arithmetic, in seconds and bytes.
#pragma once

#include <cstdint>
#include <span>

namespace strata::plan {

// ---- Communication

// What is left of communication when backward ends: of bucket after bucket, which take `seconds`
// and are ready so long before the end. With a bucket a layer and many layers it is the larger of
// tail x C and C - B, for C seconds in all and B of backward (Lamy-Poirier, arXiv 2106.02679).
double exposed_communication(std::span<const double> seconds, std::span<const double> before_end);

// The same of so many layers that they need not be counted: max(tail C, C - B).
double exposed_communication(double communication, double tail, double backward);

// What connects ranks.
struct Link {
  double latency = 0;           // seconds of a message
  double bytes_per_second = 0;  // that a rank sends
};

// A ring's all-reduce of `bytes` over `ranks`: 2 (n - 1) / n M / beta + 2 (n - 1) alpha; with a
// tree's latency, 2 log2 n alpha, where that is less.
double all_reduce_seconds(const Link& link, double bytes, int64_t ranks);

// ---- Pipelines

// Share of the ideal time that a stage waits (the same paper): (P - 1) / (n R) for R runs of layers
// on a stage: 1 contiguous, L / P modular.
double bubble_share(int64_t stages, int64_t runs, int64_t micro_batches);

// What comes on top of the layers' time of a stage, as a share of it.
struct BubbleParts {
  double paper = 0;     // bubble_share
  double heads = 0;     // time of heads and embeddings, on stage 0
  double messages = 0;  // time of one micro-batch's way through a run of stages and back
};
// Stage 0 takes micro-batches through the heads while it waits for the other stages: only what does
// not fit in there counts. Of more micro-batches than stages, behind which later messages hide.
double bubble_with(const BubbleParts& parts);

// That a stage sends others in a step: 2 R T H c, for T tokens of all micro-batches.
int64_t message_bytes(int64_t runs, int64_t tokens, int64_t hidden, int64_t element_bytes);

// ---- Memory

// What a layer keeps of a micro-batch of T tokens for its backward: T (7 H + 2 I) c + T (A + 2) m,
// for hidden H, intermediate I, A heads; c and m are bytes of the compute and the master dtype.
double layer_activation_bytes(double tokens, double hidden, double intermediate, double heads,
                              double compute_bytes, double master_bytes);

}  // namespace strata::plan
