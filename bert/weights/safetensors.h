// The safetensors file format: an 8-byte little-endian header size, a JSON header, raw tensors.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bert/weights/tensor_file.h"

namespace strata::bert {

// Opens a file and checks its header against its length: every tensor lies inside the file and is
// as long as its shape says. Throws Error naming the file, the tensor and the offset.
class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

 private:
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;
};

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values;
};

// Writes F32 tensors, whole or not at all. Throws Error (disk full, no permission).
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace strata::bert
