// A file of named tensors, whatever its format, as a source of weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
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

class TensorFile {
 public:
  virtual ~TensorFile() = default;

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  // The values of `name`, converted from F64, F32, F16 or BF16; `values` has its size. Throws Error
  // naming file, tensor and offset where they cannot be read.
  void read(const std::string& name, std::span<float> values) const;

 protected:
  explicit TensorFile(std::filesystem::path path) : path_(std::move(path)) {}
  virtual std::string read_bytes(const std::string& name, const StoredTensor& tensor) const = 0;

  std::filesystem::path path_;
  std::map<std::string, StoredTensor> tensors_;
};

// Bytes [begin, end) of `path`, those of tensor `name`. Throws Error naming all of them.
std::string read_tensor_bytes(const std::filesystem::path& path, const std::string& name,
                              uint64_t begin, uint64_t end);

// Bytes that a tensor of this dtype and shape takes. Throws Error where the dtype is unknown or
// they are more than `most`.
uint64_t tensor_bytes(const std::string& dtype, const std::vector<int64_t>& shape, uint64_t most);

}  // namespace strata::bert
