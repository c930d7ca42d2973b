#include "training/sync/amax_sync.h"

namespace strata::training {

AmaxSync::AmaxSync(const bert::Model& model, comm::Communicator& communicator) : model_(model) {
  if (!model.in_float8() || communicator.size() == 1) return;
  collectives_ = comm::make_collectives(communicator, model.backend(), device::Stream::kCompute);
  all_reduce();
  model.backend().synchronize(device::Stream::kCompute);
}

void AmaxSync::all_reduce() {
  if (!collectives_) return;
  const device::Tensor largest = model_.float8_amax();
  collectives_->all_reduce_max(largest.as<float>(), largest.size());
}

}  // namespace strata::training
