// Syncs the largest absolute values (amax) that FP8 scales come from, so that losses do not depend
// on which rank a sample is dealt to.
#pragma once

#include <memory>

#include "bert/model/model.h"
#include "comm/collectives.h"
#include "comm/communicator.h"

namespace strata::training {

class AmaxSync {
 public:
  // Does nothing with one rank, or a model without FP8. All ranks construct together, which
  // connects them. References must outlive the object.
  AmaxSync(const bert::Model& model, comm::Communicator& communicator);

  // All-reduces the values. Call after a step's last micro-batch. No other collective may be in
  // flight, so the step's updates must have waited for all reductions. All ranks call together.
  void all_reduce();

 private:
  const bert::Model& model_;
  std::unique_ptr<device::Collectives> collectives_;  // null: there is nothing to sync
};

}  // namespace strata::training
