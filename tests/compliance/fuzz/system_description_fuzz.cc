// Reads any bytes as a system description.
#include <cstdint>
#include <string_view>

#include "compliance/package/system_description.h"
#include "compliance/review/described_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::compliance;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_system_text(text, "fuzz.json", "training", "5.0.0");
  const DescribedSystem system = read_described_system(text);
  counted_accelerators(text, system.accelerator);
  counted_nodes(text);
  return 0;
}
