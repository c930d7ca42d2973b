// Reads arbitrary bytes as a safetensors file, as the header of one, or as the index of several,
// including all tensors. The first byte chooses.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "bert/weights/other_file.h"
#include "bert/weights/safetensors.h"
#include "bert/weights/sharded_safetensors.h"
#include "tests/support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const strata::fuzz::FuzzFile file(".safetensors"), index(".safetensors.index.json");
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 2) {
    index.write(text);
    try {
      const strata::bert::ShardedSafetensors tensors(index.path());
    } catch (const strata::Error&) {
    }
    return 0;
  }
  if (data[0] % 3 == 0) {
    file.write(text);
  } else {
    const uint64_t header = text.size();
    std::string values(1024, '\0');
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * 37);
    file.write(std::string(reinterpret_cast<const char*>(&header), sizeof header) + text + values);
  }
  try {
    strata::bert::refuse_other_file(file.path());
  } catch (const strata::Error&) {
  }
  try {
    const strata::bert::SafetensorsFile tensors(file.path());
    for (const auto& [name, tensor] : tensors.tensors()) {
      std::vector<float> values(static_cast<size_t>(tensor.size()));
      try {
        tensors.read(name, values);
      } catch (const strata::Error&) {
      }
    }
  } catch (const strata::Error&) {
  }
  return 0;
}
