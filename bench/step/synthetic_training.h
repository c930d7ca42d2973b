// Training steps on synthetic batches and random weights, for benchmarks. Needs no data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/timing.h"
#include "bert/model/model.h"
#include "comm/buckets/gradient_buckets.h"
#include "config/run_config.h"
#include "data/files/packed_batch.h"
#include "optim/optimizer.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/ranks.h"
#include "training/ranks/stage_ranks.h"
#include "training/step/step_executor.h"
#include "training/sync/amax_sync.h"
#include "training/trace/compute_times.h"
#include "training/trace/timeline.h"

namespace strata::bench {

// The sequences of a micro-batch: batch.micro_batch of them, or as many as fill `tokens` unless
// that is 0. Their lengths are MLPerf Wikipedia's mix, or `length` unless that is 0.
struct MicroBatchSequences {
  int64_t tokens = 0;
  int32_t length = 0;
};

// Returns the sequences' lengths. Throws Error if the model has fewer positions.
std::vector<int32_t> micro_batch_lengths(const config::RunConfig& config,
                                         const MicroBatchSequences& sequences,
                                         const bert::BertConfig& bert, uint64_t seed);

// Returns every rank's value, by rank. All call together.
std::vector<double> of_all_ranks(const training::Ranks& ranks, double value);
// Returns the largest value of all ranks.
double slowest(const training::Ranks& ranks, double seconds);
// Returns `value` of the rank with the most `seconds`.
double of_slowest(const training::Ranks& ranks, double seconds, double value);
int64_t sum_over_ranks(const training::Ranks& ranks, int64_t value);
// Returns the bytes that this rank has sent to other stages or modules so far.
int64_t message_bytes_sent(const training::Ranks& ranks);

// The model, its optimizer and a few global batches with MLPerf Wikipedia's mix of lengths. Steps
// are as in training: every replica has batch.gradient_accumulation_steps micro-batches of
// batch.micro_batch sequences, planned by batch.load_balance.strategy.
class SyntheticTraining {
 public:
  struct Step {
    double seconds = 0;
    // Only set by timed_step().
    training::ComputeSeconds compute;  // a micro-batch's upload counts as its forward
    comm::StepTimes reduce;
  };

  // The work of this rank's step. With stages, the first stage counts the whole replica's work.
  struct Work {
    int64_t sequences = 0, tokens = 0;
    double flops = 0;  // FLOPs of the model, with the layers that the last step had
  };

  // Makes `batches` different batches. If tokens or lengths are given there is no plan, and all
  // micro-batches of all replicas have the same lengths. If `backend` is null, makes the configured
  // one. All ranks construct together.
  SyntheticTraining(const config::RunConfig& config, const MicroBatchSequences& sequences,
                    int batches, const training::Ranks& ranks,
                    std::unique_ptr<device::Backend> backend = nullptr);

  // Makes buckets that reduce, clip and update gradients in these steps. There may be several, used
  // in turn, but only one with device.graphs.
  std::unique_ptr<comm::GradientBuckets> make_buckets(comm::Communicator& communicator,
                                                      const comm::BucketOptions& options);

  // Trains on batch `batch`. All ranks call together.
  Step step(size_t batch, comm::GradientBuckets& buckets) { return run(batch, buckets, nullptr); }
  // Issues the same step instead of launching graphs, and times its parts, which may take a device
  // a little longer. Adds them to `timeline`, which may be null.
  Step timed_step(size_t batch, comm::GradientBuckets& buckets,
                  training::Timeline* timeline = nullptr);

  // The ranks that reduce gradients together.
  comm::Communicator& replicas() const { return stages_->replicas(); }
  device::Backend& backend() { return *backend_; }
  bert::Model& model() { return *model_; }
  training::ParameterMemory parameter_memory() const {
    return training::parameter_memory(*model_, *optimizer_);
  }
  bool knows_phases() const { return !captures_graphs_; }
  device::GraphCache::Captured captured_graphs() const {
    return captures_graphs_ ? executors_.begin()->second->captured_graphs()
                            : device::GraphCache::Captured();
  }
  size_t batches() const { return batches_.size(); }
  // Returns [micro-batches][sequences] tokens of this rank.
  const std::vector<std::vector<int32_t>>& lengths(size_t batch) const { return lengths_[batch]; }
  Work work(size_t batch) const;
  // Returns the tokens of this rank's micro-batches after the model's rounding up.
  int64_t rounded_tokens(size_t batch) const;

 private:
  // A null `times` times nothing.
  Step run(size_t batch, comm::GradientBuckets& buckets, training::ComputeTimes* times);
  Step train_on(size_t batch, comm::GradientBuckets& buckets, training::ComputeTimes* times);

  bert::BertConfig bert_;
  int64_t accumulation_;
  const training::Ranks& ranks_;
  std::optional<training::StageRanks> stages_;
  std::vector<std::vector<std::vector<int32_t>>> lengths_;  // [batches][micro-batches][sequences]
  std::vector<std::vector<data::PackedBatch>> batches_;     // [batches][micro-batches]
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<bert::Model> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<training::AmaxSync> amax_sync_;
  std::optional<training::ComputeTimes> times_;
  std::unique_ptr<comm::WeightGatherer> weight_gatherer_;  // null: all weights are in memory
  std::optional<training::StepWork> work_;
  bool captures_graphs_;
  // One executor for each set of buckets.
  std::map<const comm::GradientBuckets*, std::unique_ptr<training::StepExecutor>> executors_;
  int64_t steps_ = 0;
  int64_t layers_ = 0;         // layers of the last step
  std::vector<Range> frozen_;  // arena elements that a step with delayed backward does not update
};

}  // namespace strata::bench
