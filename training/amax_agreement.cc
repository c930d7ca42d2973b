#include "training/amax_agreement.h"

namespace strata::training {

Float8Agreement::Float8Agreement(const bert::Model& model, comm::Communicator& communicator)
    : model_(model) {
  if (!model.in_float8() || communicator.size() == 1) return;
  collectives_ =
      comm::make_device_communicator(communicator, model.backend(), device::Stream::kCompute);
  agree();
  model.backend().synchronize(device::Stream::kCompute);
}

void Float8Agreement::agree() {
  if (!collectives_) return;
  const device::Tensor largest = model_.float8_largest();
  collectives_->all_reduce_max(largest.as<float>(), largest.size());
}

}  // namespace strata::training
