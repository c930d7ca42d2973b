// Which backends there are, and how to make one. A vendor's is one more entry of backends.cc
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

// Values of a backend's own options, by their names; an option that is absent has its default.
using OptionValues = std::map<std::string, std::string>;

struct BackendOptions {
  std::string name = "cpu";  // a BackendKind's
  DType compute_dtype = DType::kF32;
  int threads = 0;  // on the host; 0: all processors that this process may use
  int device = 0;   // which of those that the machine has
  OptionValues options;
};

// A choice that only one backend offers (device.options in configurations): one of `values`, or, if
// that is empty, a whole number from 0 to `most`.
struct BackendOption {
  struct Value {
    const char* name;
    const char* meaning;
  };
  const char* name;
  const char* meaning;             // for people, a sentence
  std::vector<Value> values = {};  // the first is the default
  int most = 0;                    // without values: the largest number; the default is 0
};

// An entry of the table of backends: what can be said of one before it is made.
struct BackendKind {
  const char* name;     // of device.backend in configurations
  const char* meaning;  // for people, a few words
  // The first is what model.precision `auto` takes where bf16 is not native.
  std::vector<DType> compute_dtypes;
  // Optional: whether model.precision `auto` is bf16 on this machine.
  bool (*bf16_is_native)() = [] { return true; };
  int float8_tokens = 1;         // optional: GEMMs in FP8 take multiples of so many tokens
  bool captures_graphs = false;  // optional: device.graphs may ask for Backend::capture
  bool memory_is_host = true;    // optional: as Backend::memory_is_host() says
  std::vector<BackendOption> options = {};                            // optional
  std::unique_ptr<Backend> (*make)(const BackendOptions&) = nullptr;  // null: not in this build
  const char* how_to_get = "build Strata with it";                    // for people, if make is null

  bool computes_in(DType dtype) const;
  std::string dtypes() const;  // "f32, bf16"
  // Throws Error, saying how to get it, if this build cannot make it.
  void check_is_built() const;
  // Throws Error where there is no such option, or it cannot have that value.
  void check_option(const std::string& option, const std::string& value) const;
};

// In the order they are documented in.
const std::vector<BackendKind>& backend_kinds();

// Throws Error where there is none of that name.
const BackendKind& find_backend(std::string_view name);

// Throws Error for a name, dtype or option that this build or machine cannot run and says why.
std::unique_ptr<Backend> make_backend(const BackendOptions& options);

}  // namespace strata::device
