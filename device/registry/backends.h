// The available backends, and how to make one. A vendor adds an entry to backends.cc
// (docs/porting.md).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/operations/dtype.h"

namespace strata::device {

class Backend;

// Values of a backend's own options by name. Absent options have their default.
using OptionValues = std::map<std::string, std::string>;

struct BackendOptions {
  std::string name = "cpu";  // name of a BackendKind
  DType compute_dtype = DType::kF32;
  int threads = 0;  // host threads; 0: all processors that this process may use
  int device = 0;   // index of the machine's device
  OptionValues options;
};

// A choice that only one backend offers (device.options in configurations): one of `values`, or, if
// that is empty, an integer from 0 to `most`.
struct BackendOption {
  struct Value {
    const char* name;
    const char* meaning;
  };
  const char* name;
  const char* meaning;             // sentence for users
  std::vector<Value> values = {};  // the first is the default
  int most = 0;                    // largest number, if `values` is empty; the default is 0
};

// Facts about a backend that are known before it is made.
struct BackendKind {
  const char* name;     // value of device.backend in configurations
  const char* meaning;  // a few words for users
  // The first is the dtype of model.precision `auto` if bf16 is not native.
  std::vector<DType> compute_dtypes;
  // Optional: true if model.precision `auto` is bf16 on this machine.
  bool (*bf16_is_native)() = [] { return true; };
  int float8_tokens = 1;                    // optional: FP8 GEMMs take multiples of so many tokens
  bool captures_graphs = false;             // optional: device.graphs may request Backend::capture
  bool memory_is_host = true;               // optional: same as Backend::memory_is_host()
  std::vector<BackendOption> options = {};  // optional
  std::unique_ptr<Backend> (*make)(const BackendOptions&) = nullptr;  // null: not in this build
  const char* how_to_get = "build Strata with it";                    // for users, if make is null

  bool computes_in(DType dtype) const;
  std::string dtypes() const;  // for example "f32, bf16"
  // Throws Error with instructions if this build cannot make it.
  void check_is_built() const;
  // Throws Error if the option does not exist or cannot have that value.
  void check_option(const std::string& option, const std::string& value) const;
};

// Entries are in the order of the documentation.
const std::vector<BackendKind>& backend_kinds();

// Throws Error if no backend has that name.
const BackendKind& find_backend(std::string_view name);

// Throws Error with the reason for a name, dtype or option that this build or machine cannot run.
std::unique_ptr<Backend> make_backend(const BackendOptions& options);

}  // namespace strata::device
