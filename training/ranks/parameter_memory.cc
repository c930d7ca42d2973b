#include "training/ranks/parameter_memory.h"

namespace strata::training {

ParameterMemory parameter_memory(const bert::Model& model, optim::Optimizer& optimizer) {
  ParameterMemory memory{.weights = model.parameters().weight_bytes() + model.stash_bytes(),
                         .gradients = model.gradient_bytes()};
  for (const device::StateTensor& moment : optimizer.state()) {
    memory.state += static_cast<int64_t>(moment.tensor.bytes());
  }
  return memory;
}

}  // namespace strata::training
