// A model's tensors in several safetensors files, named by an index (Hugging Face's
// model.safetensors.index.json): a JSON object whose "weight_map" gives each tensor its file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "bert/weights/safetensors.h"

namespace strata::bert {

// Opens all files that the index names, beside it. Throws Error naming the index and the tensor or
// file if a file is missing or damaged, lacks a tensor that the index gives it, holds one that
// another file holds, or lies elsewhere.
class ShardedSafetensors : public TensorFile {
 public:
  explicit ShardedSafetensors(const std::filesystem::path& index);

  // Whether `path` is such an index, by its name.
  static bool is_index(const std::filesystem::path& path);

 private:
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;

  std::map<std::string, std::filesystem::path> files_;  // of the tensors
};

// "3 of 5" if `path` is named as one of several shards (NAME-00003-of-00005.safetensors), else
// empty.
std::string shard_number(const std::filesystem::path& path);

}  // namespace strata::bert
