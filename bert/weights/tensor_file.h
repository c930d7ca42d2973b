// A file of named tensors in any format, as a source of weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata::bert {

// A tensor in a file: shape, dtype name ("F32", "BF16", ...), and byte range.
struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the file
  uint64_t end = 0;

  int64_t size() const;  // in elements
};

class TensorFile {
 public:
  virtual ~TensorFile() = default;

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  // Reads the values of `name`, converted from F64, F32, F16 or BF16. `values` must have the
  // tensor's size. Throws Error naming file and tensor if they cannot be read.
  void read(const std::string& name, std::span<float> values) const;

 protected:
  explicit TensorFile(std::filesystem::path path) : path_(std::move(path)) {}
  virtual std::string read_bytes(const std::string& name, const StoredTensor& tensor) const = 0;

  std::filesystem::path path_;
  std::map<std::string, StoredTensor> tensors_;
};

// Returns bytes [begin, end) of `path`, which belong to tensor `name`. Throws Error naming `path`,
// `name` and `begin`.
std::string read_tensor_bytes(const std::filesystem::path& path, const std::string& name,
                              uint64_t begin, uint64_t end);

// Returns the size of a tensor of this dtype and shape in bytes. Throws Error if the dtype is
// unknown or the size exceeds `most`.
uint64_t tensor_bytes(const std::string& dtype, const std::vector<int64_t>& shape, uint64_t most);

}  // namespace strata::bert
