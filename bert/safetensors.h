// The safetensors file format: an 8-byte little-endian header size, a JSON header, raw tensors.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace strata::bert {

// A tensor in a file: shape, dtype name ("F32", "BF16", ...), and where its bytes lie.
struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the file
  uint64_t end = 0;

  int64_t size() const;  // elements
};

// Opens a file and checks its header against its length: every tensor lies inside the file and is
// as long as its shape says. Throws Error naming the file, the tensor and the offset.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  // The values of `name`, converted from F64, F32, F16 or BF16; `values` has its size.
  void read(const std::string& name, std::span<float> values) const;

 private:
  std::filesystem::path path_;
  std::map<std::string, StoredTensor> tensors_;
};

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values;
};

// Writes F32 tensors, whole or not at all. Throws Error (disk full, no permission).
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace strata::bert
