// Weights of earlier steps, for backwards that come after the weights' update.
#pragma once

#include <cstdint>
#include <vector>

#include "base/range.h"
#include "device/backend.h"
#include "device/memory/arena.h"
#include "device/memory/buffer.h"

namespace strata::bert {

class WeightStash {
 public:
  // Allocates `versions` copies of the elements `ranges` of `weights`; the ranges ascend. `backend`
  // and the memory of `weights` must outlive this object.
  WeightStash(device::Backend& backend, const device::Arena& weights,
              const std::vector<Range>& ranges, int versions);

  // Copies the current weights in one of the ranges, on Stream::kCompute.
  void keep(const Range& range, int version);
  const device::Arena& version(int version) const { return copies_[static_cast<size_t>(version)]; }
  int versions() const { return static_cast<int>(copies_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(memory_.bytes()); }

 private:
  device::Backend& backend_;
  device::Arena weights_;
  device::Buffer memory_;
  std::vector<device::Arena> copies_;
};

}  // namespace strata::bert
