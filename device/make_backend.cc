#include "base/error.h"
#include "device/backend.h"
#include "device/cpu/cpu_backend.h"

namespace strata::device {

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  if (options.name == "cpu") return cpu::make_cpu_backend(options.compute_dtype, options.threads);
  fail("unknown backend '{}'; this build has cpu and reference", options.name);
}

}  // namespace strata::device
