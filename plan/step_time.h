// Predicted time of a step, term by term, and the memory that its layout of ranks needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/calibration.h"
#include "plan/step_forms.h"

namespace strata::plan {

// What time and memory depend on in a model. The defaults are BERT-large as MLPerf trains it.
struct ModelShape {
  int64_t layers = 24, hidden = 1024, intermediate = 4096, heads = 16;
  double parameters = 336'226'108;
  double layer_parameters = 12'596'224;
  double longest = 512;       // tokens of a sample, at most
  double mean_tokens = 270;   // of a sample of MLPerf's Wikipedia
  double gradient_bytes = 2;  // of an element as it is sent
  double compute_bytes = 2, master_bytes = 4;
  double heads_share = 0.016;  // FLOPs of heads and embeddings over those of all layers
  double tail = 0.093;         // share of the gradients that the last block completes: tied words
};

enum class Order : uint8_t { kMicroBatch, kLayer };
enum class Sharding : uint8_t { kNone, kState, kGradients, kAll };
enum class Clip : uint8_t { kNone, kAfterAllReduce, kBeforeAllReduce, kBucketBeforeAllReduce };
std::string_view name_of(Order order);
std::string_view name_of(Sharding sharding);
std::string_view name_of(Clip clip);  // as clip.mode has it

// How ranks divide the work of a step.
struct Layout {
  int64_t stages = 1;
  bool modular = false;  // layer i on stage i mod stages; else a stage has consecutive layers
  int64_t micro_batches = 1;
  Order order = Order::kMicroBatch;
  Sharding sharding = Sharding::kNone;
  Clip clip = Clip::kBucketBeforeAllReduce;
  bool recompute = false;    // layers go forward again before their backward
  bool early_words = false;  // the heads' part of the word embeddings' gradient is sent first
  // Size of a gradient bucket, in bytes (see gradient_buckets). 0: gradients are sent layer by
  // layer and the network's latency counts once a step.
  double bucket_bytes = 0;
  // Modules of Ouroboros, on one rank fewer. Delayed: the backwards of all modules run at once.
  int64_t modules = 1;
  bool delayed = false;
};

// What is to be predicted.
struct StepInput {
  int64_t ranks = 1;
  int64_t nodes = 1;
  double batch = 0;                  // samples, over all ranks
  double imbalance = 1;              // the slowest rank's work over the mean
  std::optional<Link> network = {};  // a rank's; else several nodes cost what was calibrated
  Layout layout = {};
};

// Seconds.
struct StepTime {
  double compute = 0;    // samples, evenly spread
  double imbalance = 0;  // what the slowest rank takes longer
  double constant = 0;   // the same whatever the step holds
  double bubble = 0;     // stages that wait for each other, and their messages
  double exposed = 0;    // communication that backward does not hide

  double total() const { return compute + imbalance + constant + bubble + exposed; }
  // The name of the largest term, which binds.
  std::string_view binding() const;
};

// Gradients that are sent together.
struct Bucket {
  double bytes = 0;
  double backward_left = 0;  // the share of backward that comes after they are complete
};
// Returns the buckets of the whole model's gradients in the order of backward (heads, layers, word
// embeddings), joined and cut as by comm::make_buckets. Requires bucket_bytes > 0.
std::vector<Bucket> gradient_buckets(const ModelShape& shape, double bucket_bytes);

// Stages each have their share of the constant, which is launches of layers and the update of
// parameters. The closed forms' sources are in step_forms.h and docs/plan.md.
StepTime predict_step(const Calibration& calibration, const ModelShape& shape,
                      const StepInput& input);

// Max over ranks / mean over ranks of the samples' cost under a load-balance strategy of
// `strata bench balance`, on MLPerf's lengths: the mean of 20 simulated steps. A replica that takes
// less than one sample counts as one that takes one. Throws Error for an unknown strategy.
double simulated_imbalance(const std::string& strategy, int64_t replicas, double batch);

// Bytes of a rank: parameters, gradients and Adam's state as ZeRO shares them, and what a
// micro-batch of samples of the longest length leaves for its backward, for each in flight.
double rank_memory(const ModelShape& shape, const StepInput& input);

}  // namespace strata::plan
