// Any bytes as a system description, and as a file of reference convergence points.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "compliance/rcp.h"
#include "compliance/system_description.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::compliance;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_system_text(text, "fuzz.json", "training", "5.0.0");
  try {
    const ReferencePoints points(text, "fuzz.json", "training", "5.0.0", "bert");
  } catch (const strata::Error&) {
  }
  return 0;
}
