// Reads any bytes as the output of `strata bench step --json`.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "plan/measured_step.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    strata::plan::parse_measured_step({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const strata::Error&) {
  }
  return 0;
}
