// Reads arbitrary bytes as a config.json.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "bert/config.h"
#include "tests/support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const strata::fuzz::FuzzFile file(".json");
  file.write({reinterpret_cast<const char*>(data), size});
  try {
    strata::bert::load_bert_config(file.path().string());
  } catch (const strata::Error&) {
  }
  return 0;
}
