// Ranks' agreement on the values that FP8 scales come from: losses then do not depend on
// which rank a sample is on.
#pragma once

#include <memory>

#include "bert/model/model.h"
#include "comm/collectives.h"
#include "comm/communicator.h"

namespace strata::training {

class AmaxAgreement {
 public:
  // All ranks construct together, which connects them; all that is taken by reference must outlive
  // it. Does nothing for one rank, or a model without FP8.
  AmaxAgreement(const bert::Model& model, comm::Communicator& communicator);

  // After the last micro-batch of a step, whose updates have waited for all reductions: no other
  // collective is on its way. All ranks call together.
  void agree();

 private:
  const bert::Model& model_;
  std::unique_ptr<device::Collectives> collectives_;  // null: there is nothing to agree on
};

}  // namespace strata::training
