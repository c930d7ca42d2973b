// Which backends there are, and how to make one. A vendor's is one more entry of backends.cc
// (docs/porting.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/dtype.h"
#include "device/kernel_choices.h"

namespace strata::device {

class Backend;

struct BackendOptions {
  std::string name = "cpu";  // a BackendKind's
  DType compute_dtype = DType::kF32;
  int threads = 0;  // on the host; 0: all processors that this process may use
  int device = 0;   // which of those that the machine has
  AttentionKernel attention = AttentionKernel::kFastest;
  FusedEpilogues epilogues = FusedEpilogues::kFastest;
};

// What can be said of a backend before there is one.
struct BackendKind {
  const char* name;     // of device.backend in configurations
  const char* meaning;  // for people, a few words
  std::vector<DType> compute_dtypes;
  bool (*bf16_is_native)() = [] { return true; };  // model.precision `auto` is bf16
  int float8_tokens = 1;         // products in 8 bits take multiples of so many tokens
  bool keeps_work = false;       // device.graphs: Backend::keep
  bool chooses_kernels = false;  // BackendOptions::attention and epilogues
  std::unique_ptr<Backend> (*make)(const BackendOptions&) = nullptr;  // null: not in this build

  bool computes_in(DType dtype) const;
  std::string dtypes() const;  // "f32, bf16"
};

// In the order they are documented in.
const std::vector<BackendKind>& backend_kinds();

// Throws Error where there is none of that name.
const BackendKind& find_backend(std::string_view name);

// Throws Error for a name or dtype that this build or machine cannot run and says why.
std::unique_ptr<Backend> make_backend(const BackendOptions& options);

}  // namespace strata::device
