// Reads any bytes as a configuration. A valid one must survive being written and read again.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/run_config.h"
#include "device/cpu/cpu_backend.h"
#include "device/reference/reference_backend.h"
#include "device/sample/sample_backend.h"
#include "tests/support/fuzz_file.h"

// Configurations name backends without making any.
namespace strata::device {
std::unique_ptr<Backend> make_reference_backend() { return nullptr; }
namespace cpu {
std::unique_ptr<Backend> make_cpu_backend(DType, int) { return nullptr; }
bool bf16_is_native() { return false; }
}  // namespace cpu
namespace sample {
std::unique_ptr<Backend> make_sample_backend() { return nullptr; }
}  // namespace sample
}  // namespace strata::device

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::config;
  static const strata::fuzz::FuzzFile file(".yaml");
  file.write({reinterpret_cast<const char*>(data), size});
  std::string text;
  try {
    text = to_yaml(load_run_config(file.path(), {}));
  } catch (const strata::Error&) {
    return 0;
  }
  file.write(text);
  if (to_yaml(load_run_config(file.path(), {})) != text) __builtin_trap();
  return 0;
}
