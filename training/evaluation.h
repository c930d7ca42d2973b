// Masked-LM accuracy over the evaluation set, sharded among ranks (with a pipeline: among
// replicas).
#pragma once

#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/sharding/weight_gatherer.h"
#include "comm/communicator.h"
#include "comm/order/executor.h"
#include "data/files/instance_file.h"
#include "training/ranks/stage_ranks.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Returns the number of samples in an evaluation: `samples`, or all of `source` if `samples` is 0.
// Throws Error if `source` has fewer.
int64_t evaluation_samples(int64_t samples, const data::InstanceSource& source);

// Returns [rank's micro-batches][samples]: the first `samples` samples, sorted by length, longest
// first, and dealt to ranks in turn, so that ranks get nearly the same work.
std::vector<std::vector<uint32_t>> evaluation_micro_batches(std::span<const uint16_t> lengths,
                                                            int64_t samples, int64_t micro_batch,
                                                            const comm::Communicator& communicator);

class Evaluator {
 public:
  // Evaluates `model` on the first `samples` samples of `source` (0: all) in micro-batches of at
  // most `micro_batch`. Takes device memory for all of them, but reads nothing until the first
  // evaluation. `weights` gathers the model's weights if they are sharded. All ranks construct
  // together. References must outlive the evaluator.
  Evaluator(bert::Model& model, const data::InstanceSource& source, int64_t samples,
            int64_t micro_batch, comm::Communicator& communicator,
            comm::WeightGatherer* weights = nullptr);

  int64_t samples() const { return samples_; }

  // Returns losses and correct counts over all ranks, which call together. Samples are read once
  // and stay on the device. With delayed backward, `free` must be StepWork::free_activations(), and
  // only Model::activations(free) is overwritten. Else pass 0; all activations may be overwritten.
  bert::Losses evaluate(int free = 0);

 private:
  void upload_samples();
  void evaluate_in_stages(size_t first, int count, int free);
  void evaluate_gathering(const bert::DeviceBatch* batch);
  void make_list();

  bert::Model& model_;
  const data::InstanceSource& source_;
  int64_t samples_;
  comm::Communicator& communicator_;  // all ranks
  StageRanks ranks_;
  std::optional<StageMessages> messages_;  // only in a pipeline
  std::vector<std::vector<uint32_t>> micro_batches_;
  std::vector<bert::DeviceBatch> batches_;  // the batches of `micro_batches_`
  bool uploaded_ = false;
  comm::WeightGatherer* weights_;   // null: all weights are in memory
  int64_t most_micro_batches_ = 0;  // most micro-batches of any rank
  // Only used if weights are gathered.
  Schedule forward_;
  comm::OperationList list_;
  const bert::DeviceBatch* gathering_batch_ = nullptr;  // null: this rank has none
  std::unique_ptr<comm::Executor> executor_;            // last: its thread uses the members above
};

}  // namespace strata::training
