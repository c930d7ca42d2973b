// Training with one or more replicas, of one or more ranks each: a global batch per step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "data/loading/batch_loader.h"
#include "loadbalance/plans/batch_plan.h"
#include "optim/loss_scale.h"
#include "optim/lr_schedule.h"
#include "optim/optimizer.h"
#include "training/batches/batch_shapes.h"
#include "training/checkpoint/training_state.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/stage_ranks.h"
#include "training/step/step_executor.h"
#include "training/sync/amax_sync.h"
#include "training/trace/compute_times.h"
#include "training/trace/step_result.h"
#include "training/trace/timeline.h"

namespace strata::training {

class Trainer {
 public:
  // Starts at step 1 with the model's present weights and empty moments. `seed` decides the order
  // of the samples and dropout. All ranks construct together. References must outlive the trainer.
  Trainer(const config::RunConfig& config, device::Backend& backend, bert::Model& model,
          comm::Communicator& communicator, uint64_t seed);

  ~Trainer() { model_.discard_uploaded(); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // ---- Call before start(), to make the first steps as fast as later ones.

  // Runs a step with `batch` as every micro-batch and a learning rate of zero. Step 1 clears the
  // optimizer's state that this may leave. All ranks call together.
  void dry_run_step(const data::PackedBatch& batch, const bert::TrainingStep& scale);
  // Captures the graphs of micro-batches with the shape of `batch`. Requires captures_graphs(), and
  // that such micro-batches have run. Returns whether there was room; see device::GraphCache.
  bool capture_graphs(const data::PackedBatch& batch, const bert::TrainingStep& scale);
  bool captures_graphs() const { return executor_.captures_graphs(); }
  device::GraphCache::Captured captured_graphs() const { return executor_.captured_graphs(); }
  // Calls `visit` with each of this rank's micro-batches in the first `steps` steps on data of
  // these classes: the step, counted from 1, and the samples.
  void visit_micro_batches(
      const data::SampleClasses& classes, int64_t steps,
      const std::function<void(int64_t step, std::span<const SampleShape> samples)>& visit) const;
  bool accumulates() const { return accumulation_ > 1; }  // gradients are sums over micro-batches
  // The ranks that share out the samples and reduce gradients.
  const comm::Communicator& replicas() const { return ranks_.replicas(); }

  // The state that a resumed run needs. Copy it between steps, or overwrite it before start().
  TrainingState state();
  // Call after overwriting state()'s arrays with those after step `step` of a run that began with
  // `plan`. That run's global batches must be as large as this trainer's (check_global_batch).
  void resume_after(int64_t step, const BatchPlanShape& plan,
                    const std::optional<optim::LossScale>& loss_scale);

  // Plans the order of the samples of `train`, which must outlive the trainer, and starts reading
  // ahead. Throws Error if data cannot be planned or read.
  void start(const data::InstanceSource& train);

  // Trains on the next global batch. Call after start(), all ranks together. Throws Error if this
  // batch, or the next one, which is read ahead, cannot be read.
  StepResult step();

  // Call between steps, for an evaluation: see StepWork.
  int free_activations() const { return work_.free_activations(); }

  // Returns the whole model's master weights, even if they are sharded or split into stages. All
  // ranks call together.
  bert::HostWeights weights();

  // Adds the following steps to `timeline`, which must outlive them; null stops it. Without graphs
  // the host waits for the device in each of them. With graphs there are only whole steps, and the
  // buckets' operations if device memory is host memory (Backend::memory_is_host).
  void record(Timeline* timeline);

  ParameterMemory parameter_memory() const {
    return training::parameter_memory(model_, *optimizer_);
  }
  // Gathers weights ahead of use; null if weights are not sharded.
  comm::WeightGatherer* weight_gatherer() { return weight_gatherer_.get(); }

  // The scale of the next step's loss; absent if losses are not scaled.
  const std::optional<optim::LossScale>& loss_scale() const { return loss_scale_; }

  // Returns the samples trained on so far, over all ranks.
  int64_t samples() const { return step_ * global_batch_; }
  // Returns the samples of a step, over all ranks.
  int64_t global_batch() const { return global_batch_; }

 private:
  // Numbers of a whole global batch that a step needs.
  struct GlobalBatch {
    int64_t masked = 0, sequences = 0, tokens = 0;
    double imbalance = 1;
  };
  // Plans the next step on the loader's thread, and writes this replica's samples to
  // loader_samples_.
  GlobalBatch plan_step();
  // Takes the first planned step. Returns its seed, its number and its losses' gradient factors.
  // Writes its imbalance and tokens to `result`.
  bert::TrainingStep next_global_batch(StepResult& result);
  // Returns the layers that this step leaves out, or nullopt without layer_drop.
  std::optional<std::vector<int64_t>> dropped_layers() const;
  double upload_next();  // returns the seconds of waiting
  bool next_samples(std::vector<uint32_t>& samples);
  // Returns this replica's part of a global batch.
  std::span<const uint32_t> local_samples(std::span<const uint32_t> global) const;

  bert::Model& model_;
  comm::Communicator& communicator_;  // all ranks
  StageRanks ranks_;
  const data::InstanceSource* train_ = nullptr;  // null before start()
  uint64_t seed_;
  int64_t micro_batch_;
  int64_t accumulation_;
  int64_t global_batch_;
  int64_t loss_interval_;
  optim::LrScheduleOptions lr_schedule_;
  // The options of batch_plan_. A resumed run keeps the BatchPlanShape of its first start.
  loadbalance::PlanOptions batch_plan_options_;
  int64_t step_ = 0;
  bool uploaded_first_ = false;  // the first upload is done; later ones run one micro-batch ahead
  Timeline* timeline_ = nullptr;
  std::unique_ptr<ComputeTimes> times_;  // null: steps are not timed

  // Deals sorted indices (data::SampleIndex). The loader's thread plans steps ahead and adds the
  // totals of each step's batch to planned_.
  std::unique_ptr<loadbalance::BatchPlan> batch_plan_;
  std::mutex planned_mutex_;
  std::deque<GlobalBatch> planned_;       // steps that have not begun; guarded by planned_mutex_
  std::vector<uint32_t> loader_samples_;  // sorted indices for this rank, by micro-batch
  size_t loader_position_ = 0;
  bool sharded_;  // the optimizer's state is sharded
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::LossScale> loss_scale_;
  int64_t scale_growth_steps_;
  AmaxSync amax_sync_;
  std::vector<Range> frozen_;  // arena elements that this step does not update
  std::unique_ptr<comm::GradientBuckets> buckets_;
  std::unique_ptr<comm::WeightGatherer> weight_gatherer_;  // null: all weights are in memory
  StepWork work_;
  StepExecutor executor_;
  data::PackedBatch batch_;
  std::unique_ptr<data::BatchLoader> loader_;  // last: its thread uses the members above
};

}  // namespace strata::training
