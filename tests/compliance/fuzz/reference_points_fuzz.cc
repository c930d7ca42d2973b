// Reads any bytes as a file of reference convergence points, of a benchmark and of a workload, and
// interpolates between the points.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "compliance/checks/rcp.h"
#include "compliance/checks/workload_points.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::compliance;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* benchmark : {"bert", "llama2_70b_lora"}) {
    try {
      const ReferencePoints points(text, "fuzz.json", "training", "5.0.0", benchmark);
      for (size_t i = 1; i < points.pruned().size(); ++i) {
        const ReferencePoint &low = points.pruned()[i - 1], &high = points.pruned()[i];
        points.interpolate((low.batch_size + high.batch_size) / 2, low, high);
      }
    } catch (const strata::Error&) {
    }
  }
  try {
    const WorkloadPoints points(text, "fuzz.json");
    const auto& all = points.points();
    if (const auto point = points.at((all.front().batch_size + all.back().batch_size) / 2))
      expected_mean(*point, 10);
  } catch (const strata::Error&) {
  }
  return 0;
}
