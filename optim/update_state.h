// State that every optimizer has: the arena, its own tensors and the values of a step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"
#include "optim/optimizer.h"

namespace strata::optim {

// Throw Error naming the optimizer and the option if `value` is out of range.
void check_beta(const char* optimizer, const char* option, double value);  // [0, 1)
void check_not_negative(const char* optimizer, const char* option, double value);

class UpdateState {
 public:
  // Allocates a zeroed tensor of the arena's size for each of `names`, which are names in
  // checkpoints. Covers only the `owned` ranges, ascending, if there are any. `step_bytes` is the
  // size of a step's values. Throws Error if the arena's tensors differ in size.
  UpdateState(device::Backend& backend, const ParameterArena& arena,
              std::span<const char* const> names, std::span<const Range> owned, size_t step_bytes);

  // Copies the values of a step to the device.
  void begin_step(device::Stream stream, const void* values);
  // The values of the step, in device memory, for operations to read when they run.
  template <typename Values>
  const Values* step() const {
    return step_values_.as<Values>();
  }

  // Returns elements of state tensor number `which`. Throws Error if they do not lie in one owned
  // range, or no step has begun.
  device::Tensor elements(size_t which, const Range& range) const;

  device::Backend& backend() const { return backend_; }
  const ParameterArena& arena() const { return arena_; }
  const std::vector<Range>& owned() const { return owned_; }  // the whole arena, or parts of it
  std::vector<device::StateTensor> tensors() const;

 private:
  device::Backend& backend_;
  ParameterArena arena_;
  std::vector<Range> owned_;
  std::vector<std::string> names_;
  std::vector<device::Buffer> buffers_;
  std::vector<device::Arena> arenas_;
  device::Buffer step_values_;
  bool step_begun_ = false;
};

}  // namespace strata::optim
