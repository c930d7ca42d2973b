// The state that training needs to resume, besides its configuration and data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/range.h"
#include "device/operations/tensor.h"
#include "optim/loss_scale.h"

namespace strata::training {

// A flat array in device memory. A rank may hold only parts of it.
struct StateArray {
  std::string name;
  device::Tensor tensor;
  std::vector<Range> holds;   // elements of the array in `tensor`, one range after another
  std::vector<Range> writes;  // elements that this rank saves, each range within `holds`
};

// Returns the elements `range` of the array, or an absent tensor if no range of `holds` contains
// them.
inline device::Tensor part_of(const StateArray& array, const Range& range) {
  int64_t place = 0;
  for (const Range& held : array.holds) {
    if (held.begin <= range.begin && range.end <= held.end) {
      place += range.begin - held.begin;
      return elements_of(array.tensor, {place, place + range.size()});
    }
    place += held.size();
  }
  return {};
}

// The division of global batches among ranks at the run's first start. A run that resumes on
// another number of ranks keeps it, so that its global batches stay the same.
struct BatchPlanShape {
  int ranks = 1;
  int batch_per_rank = 1;
  int micro_batches = 1;

  int64_t global_batch() const { return int64_t{ranks} * batch_per_rank; }
};

struct TrainingState {
  int64_t step = 0;        // the last trained step
  int64_t parameters = 0;  // arena elements of the whole model
  BatchPlanShape plan;
  std::optional<optim::LossScale> loss_scale;  // only with model.precision fp16
  std::vector<StateArray> arrays;
};

}  // namespace strata::training
