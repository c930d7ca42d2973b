// A TensorFlow checkpoint, named by its prefix. PREFIX.index locates the tensors, in a LevelDB
// table of protocol buffers, and PREFIX.data-00000-of-00001 holds them
// (tensorflow/core/protobuf/tensor_bundle.proto). MLPerf's initial weights have this format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "bert/weights/tensor_file.h"

namespace strata::bert {

// Reads the index and checks it against the length of the data: every tensor must lie inside its
// file and have the length of its shape. A tensor's checksum is checked when it is read. Throws
// Error naming the file and the tensor.
class TensorFlowCheckpoint : public TensorFile {
 public:
  explicit TensorFlowCheckpoint(const std::filesystem::path& prefix);

  // True if the file PREFIX.index exists.
  static bool exists(const std::filesystem::path& prefix);

 private:
  struct Source {
    std::filesystem::path file;
    uint32_t checksum = 0;
  };
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;

  std::map<std::string, Source> sources_;
};

}  // namespace strata::bert
