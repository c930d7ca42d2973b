// Any bytes as a configuration; what is read from it can be written and read again.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "harness/run_config.h"
#include "tests/support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::harness;
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
