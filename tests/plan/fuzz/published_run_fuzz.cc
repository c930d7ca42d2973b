// Reads any bytes as a published log.
#include <cstdint>
#include <string>

#include "plan/published/published_run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata;
  const std::string text(reinterpret_cast<const char*>(data), size);
  plan::read_published_run(mllog::LogReader::from_text(text, "fuzz"));
  return 0;
}
