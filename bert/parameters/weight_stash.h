// Weights as they were in steps before, for backwards that come after their update.
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
  // Takes memory for `versions` copies of the elements `ranges` of `weights`, which rise. `backend`
  // and what `weights` views outlive it.
  WeightStash(device::Backend& backend, const device::Arena& weights,
              const std::vector<Range>& ranges, int versions);

  // Copies the weights of one of the ranges, as they are now. On Stream::kCompute.
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
