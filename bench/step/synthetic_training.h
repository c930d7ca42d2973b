// Training steps on synthetic batches and random weights, for measuring; needs no data.
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
#include "training/agreement/amax_agreement.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/ranks.h"
#include "training/ranks/stage_ranks.h"
#include "training/step/step_executor.h"
#include "training/trace/compute_times.h"
#include "training/trace/timeline.h"

namespace strata::bench {

// Which sequences a micro-batch has: batch.micro_batch of them, or as many as fill `tokens` where
// that is not 0; in MLPerf Wikipedia's mix of lengths, or all of `length` tokens where that is not.
struct MicroBatchSequences {
  int64_t tokens = 0;
  int32_t length = 0;
};

// Their lengths. Throws Error where the model has fewer positions.
std::vector<int32_t> micro_batch_lengths(const config::RunConfig& config,
                                         const MicroBatchSequences& sequences,
                                         const bert::BertConfig& bert, uint64_t seed);

// Every rank's value, by rank; all call together.
std::vector<double> of_all_ranks(const training::Ranks& ranks, double value);
// The largest of them.
double slowest(const training::Ranks& ranks, double seconds);
// `value` of the rank whose `seconds` are the most.
double of_slowest(const training::Ranks& ranks, double seconds, double value);
int64_t sum_over_ranks(const training::Ranks& ranks, int64_t value);
// By this rank so far, to other stages or modules.
int64_t message_bytes_sent(const training::Ranks& ranks);

// The model, its optimizer and a few global batches with MLPerf Wikipedia's mix of lengths. Steps
// are as in training: batch.gradient_accumulation_steps micro-batches of batch.micro_batch
// sequences on every replica, as batch.load_balance.strategy plans them.
class SyntheticTraining {
 public:
  struct Step {
    double seconds = 0;
    // Of steps that are timed.
    training::ComputeSeconds compute;  // the upload of a micro-batch is part of its forward
    comm::StepTimes reduce;
  };

  // What a step of this rank computes; of stages, what the replica does, on the first.
  struct Work {
    int64_t sequences = 0, tokens = 0;
    double flops = 0;  // of the model; of layers, those that the last step had
  };

  // `batches` different ones. Where tokens or lengths are given there is no plan: every micro-batch
  // of every replica has sequences of the same lengths. `backend` null: the configured one. All
  // ranks construct together.
  SyntheticTraining(const config::RunConfig& config, const MicroBatchSequences& sequences,
                    int batches, const training::Ranks& ranks,
                    std::unique_ptr<device::Backend> backend = nullptr);

  // What reduces, clips and updates gradients in these steps; there may be several, used in turn,
  // but with device.graphs only one.
  std::unique_ptr<comm::GradientBuckets> make_buckets(comm::Communicator& communicator,
                                                      const comm::BucketOptions& options);

  // Trains on batch `batch` of those made; all ranks call together.
  Step step(size_t batch, comm::GradientBuckets& buckets) { return run(batch, buckets, nullptr); }
  // The same, issued rather than launched, its parts timed, which may take a device a little
  // longer. Adds them to `timeline`, which may be null.
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
  // [micro-batches][sequences] tokens, of this rank.
  const std::vector<std::vector<int32_t>>& lengths(size_t batch) const { return lengths_[batch]; }
  Work work(size_t batch) const;
  // Of this rank's micro-batches, as the model rounds them up.
  int64_t rounded_tokens(size_t batch) const;

 private:
  // `times` null: not timed.
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
  std::optional<training::AmaxAgreement> amax_agreement_;
  std::optional<training::ComputeTimes> times_;
  std::unique_ptr<comm::WeightGatherer> weight_gatherer_;  // null: all weights are in memory
  std::optional<training::StepWork> work_;
  bool captures_graphs_;
  // Of the buckets that were made.
  std::map<const comm::GradientBuckets*, std::unique_ptr<training::StepExecutor>> executors_;
  int64_t steps_ = 0;
  int64_t layers_ = 0;         // that the last step had
  std::vector<Range> frozen_;  // arena elements that a step does not update, where work is delayed
};

}  // namespace strata::bench
