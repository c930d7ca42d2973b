// Predicts a step's time, term by term, and the memory of its layout of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/calibration.h"
#include "plan/forms/network.h"
#include "plan/forms/step_forms.h"

namespace strata::plan {

// The properties of a model that decide time and memory. The defaults are MLPerf's BERT-large.
struct ModelShape {
  int64_t layers = 24, hidden = 1024, intermediate = 4096, heads = 16;
  double parameters = 336'226'108;
  double layer_parameters = 12'596'224;
  double longest = 512;       // most tokens of a sample
  double mean_tokens = 270;   // mean tokens of a sample in MLPerf's Wikipedia
  double gradient_bytes = 2;  // bytes per element that is sent
  double compute_bytes = 2, master_bytes = 4;
  double heads_share = 0.016;  // FLOPs of heads and embeddings over those of all layers
  double tail = 0.093;         // share of the gradients that the last block completes: tied words
};

enum class Order : uint8_t { kMicroBatch, kLayer };
enum class Sharding : uint8_t { kNone, kState, kGradients, kAll };
enum class Clip : uint8_t { kNone, kAfterAllReduce, kBeforeAllReduce, kBucketBeforeAllReduce };
std::string_view name_of(Order order);
std::string_view name_of(Sharding sharding);
std::string_view name_of(Clip clip);  // the name in clip.mode

// How ranks divide the work of a step.
struct Layout {
  int64_t stages = 1;
  bool modular = false;  // layer i on stage i mod stages; else a stage has consecutive layers
  int64_t micro_batches = 1;
  Order order = Order::kMicroBatch;
  Sharding sharding = Sharding::kNone;
  Clip clip = Clip::kBucketBeforeAllReduce;
  bool recompute = false;             // layers repeat forward before their backward
  bool split_tied_embedding = false;  // the word gradient's dense part is sent first
  // Size of a gradient bucket in bytes (see gradient_buckets). If 0, gradients are sent layer by
  // layer and the network's latency counts once per step.
  double bucket_bytes = 0;
  // Modules of Ouroboros, on one rank fewer. If delayed, the backwards of all modules run at once.
  int64_t modules = 1;
  bool delayed = false;
};

// The input of a prediction.
struct StepInput {
  int64_t ranks = 1;
  int64_t nodes = 1;
  double batch = 0;                     // samples, over all ranks
  double imbalance = 1;                 // the slowest rank's work over the mean
  std::optional<Network> network = {};  // absent: several nodes cost what was calibrated
  Layout layout = {};
};

// Terms in seconds.
struct StepTime {
  double compute = 0;    // samples, evenly spread
  double imbalance = 0;  // extra time of the slowest rank
  double constant = 0;   // the same for any number of samples
  double bubble = 0;     // stages' waits for each other, and their messages
  double exposed = 0;    // communication that backward does not hide, and between_nodes

  double error = 0;  // standard deviation as a share of total(), see predicted_error
  // False if the calibration cannot tell `exposed` from `constant`.
  bool tells_exposed = true;

  double total() const { return compute + imbalance + constant + bubble + exposed; }
  // Returns the name of the largest term, or "communication or constant" (see tells_exposed).
  std::string_view binding() const;
};

// Gradients that are sent together.
struct Bucket {
  double bytes = 0;
  double backward_left = 0;  // the share of backward after they are complete
};
// Returns the buckets of the whole model's gradients in the order of backward (heads, layers, word
// embeddings), joined and cut as by comm::make_buckets. Requires bucket_bytes > 0.
std::vector<Bucket> gradient_buckets(const ModelShape& shape, double bucket_bytes);

// Stages divide the part of the constant that every micro-batch repeats, and the update. A given
// network adds only the exposed communication beyond a calibrated domain's, which is part of the
// constant. step_forms.h and docs/plan.md give the closed forms' sources.
StepTime predict_step(const Calibration& calibration, const ModelShape& shape,
                      const StepInput& input);

// Returns the cost of the samples, maximum over mean of the ranks, under a load-balance strategy of
// `strata bench balance` on MLPerf's lengths: the mean of 20 simulated steps. A replica with less
// than one sample counts as one with one. Throws Error for an unknown strategy.
double simulated_imbalance(const std::string& strategy, int64_t replicas, double batch);

// Returns the bytes per rank: parameters, gradients and Adam's state as ZeRO shards them, the
// activations of each micro-batch in flight, and the workspace. All samples count as the longest,
// because the program reserves memory for these.
double rank_memory(const ModelShape& shape, const StepInput& input);

}  // namespace strata::plan
