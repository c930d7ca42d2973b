#include "bert/parameters/weight_stash.h"

#include "bert/batches/device_batch.h"

namespace strata::bert {

WeightStash::WeightStash(device::Backend& backend, const device::Arena& weights,
                         const std::vector<Range>& ranges, int versions)
    : backend_(backend), weights_(weights) {
  const device::DType dtype = weights.memory().dtype;
  const int64_t elements = device::total_size(ranges);
  const size_t bytes = static_cast<size_t>(elements) * size_of(dtype);
  memory_ = device::Buffer(backend, bytes * static_cast<size_t>(versions));
  for (int version = 0; version < versions; ++version) {
    char* const begin = memory_.as<char>() + bytes * static_cast<size_t>(version);
    copies_.emplace_back(device::Tensor{begin, dtype, 1, elements}, weights.size(),
                         device::packed(ranges));
  }
}

void WeightStash::keep(const Range& range, int version) {
  backend_.convert(
      kCompute, {elements_of(weights_, range), 1.0f, elements_of(this->version(version), range)});
}

}  // namespace strata::bert
