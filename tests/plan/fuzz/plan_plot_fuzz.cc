// Reads any bytes as the output of `strata plan --json`.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "plan/report/plan_plot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    strata::plan::plot_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const strata::Error&) {
  }
  return 0;
}
