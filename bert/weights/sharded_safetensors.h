// A model's tensors in several safetensors files with an index (Hugging Face's
// model.safetensors.index.json): a JSON object whose "weight_map" gives each tensor its file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "bert/weights/safetensors.h"

namespace strata::bert {

// Opens all files that the index names, in its folder. Throws Error naming the index and the tensor
// or file if a file is missing, lacks a tensor that the index assigns to it, repeats a tensor of
// another file, or lies in another folder. If a file is damaged, the Error names that file.
class ShardedSafetensors : public TensorFile {
 public:
  explicit ShardedSafetensors(const std::filesystem::path& index);

  // True if `path` is a file with the name of an index.
  static bool is_index(const std::filesystem::path& path);

 private:
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;

  std::map<std::string, std::filesystem::path> files_;  // files by tensor name
};

// Returns "3 of 5" for one of several shards (NAME-00003-of-00005.safetensors), else an empty text.
std::string shard_number(const std::filesystem::path& path);

}  // namespace strata::bert
