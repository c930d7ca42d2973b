// A checkpoint of TensorFlow, named by its prefix: PREFIX.index says where tensors lie, in a
// LevelDB table of protocol buffers, and PREFIX.data-00000-of-00001 holds them
// (tensorflow/core/protobuf/tensor_bundle.proto). MLPerf's initial weights are one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "bert/weights/tensor_file.h"

namespace strata::bert {

// Reads the index and checks it against the length of the data: every tensor lies inside its file
// and is as long as its shape says. A tensor's checksum is checked when it is read. Throws Error
// naming the file and the tensor.
class TensorFlowCheckpoint : public TensorFile {
 public:
  explicit TensorFlowCheckpoint(const std::filesystem::path& prefix);

  // Whether there is such a checkpoint: a file PREFIX.index.
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
