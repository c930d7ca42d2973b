#include "bert/weights/sharded_safetensors.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/files/files.h"
#include "bert/weights/other_file.h"

namespace strata::bert {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kEnding = ".safetensors.index.json";
constexpr std::string_view kShardEnding = ".safetensors";

// Returns file names by tensor name.
std::map<std::string, std::string> read_weight_map(const fs::path& index) {
  const std::string file = index.string();
  const json object = json::parse(read_file(index), nullptr, false);
  if (!object.is_object() || !object.contains("weight_map") || !object["weight_map"].is_object() ||
      object["weight_map"].empty()) {
    refuse_other_file(index);
    fail("{}: an index of shards needs a \"weight_map\", which is missing; fetch it again", file);
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, name] : object["weight_map"].items()) {
    if (!name.is_string()) fail("{}: weight_map: {}: is not a file name", file, tensor);
    const fs::path shard = name.get<std::string>();
    if (shard.filename() != shard || !shard.string().ends_with(kShardEnding)) {
      fail("{}: weight_map: {}: \"{}\" is not the name of a safetensors file beside the index",
           file, tensor, shard.string());
    }
    map[tensor] = shard.string();
  }
  return map;
}

}  // namespace

bool ShardedSafetensors::is_index(const fs::path& path) {
  std::error_code error;
  return path.string().ends_with(kEnding) && fs::is_regular_file(path, error);
}

ShardedSafetensors::ShardedSafetensors(const fs::path& index) : TensorFile(index) {
  const std::map<std::string, std::string> map = read_weight_map(index);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map) shards.insert(shard);
  for (const std::string& shard : shards) {
    const fs::path path = index.parent_path() / shard;
    std::error_code error;
    if (!fs::exists(path, error)) {
      fail("{}: its shard {} is missing; fetch all shards", index.string(), path.string());
    }
    refuse_other_file(path);
    const SafetensorsFile file(path);
    for (const auto& [name, tensor] : file.tensors()) {
      if (!files_.emplace(name, path).second) {
        fail("{}: the tensor \"{}\" is in {} and in {}; fetch all shards again", index.string(),
             name, files_[name].string(), path.string());
      }
      tensors_[name] = tensor;
    }
  }
  for (const auto& [tensor, shard] : map) {
    const auto found = files_.find(tensor);
    if (found != files_.end() && found->second.filename() == shard) continue;
    fail("{}: the tensor \"{}\" is not in {}; fetch all shards again", index.string(), tensor,
         shard);
  }
}

std::string ShardedSafetensors::read_bytes(const std::string& name,
                                           const StoredTensor& tensor) const {
  return read_tensor_bytes(files_.at(name), name, tensor.begin, tensor.end);
}

std::string shard_number(const fs::path& path) {
  static const std::regex pattern(R"(.*-0*(\d+)-of-0*(\d+)\.safetensors)");
  std::smatch match;
  const std::string name = path.filename().string();
  if (!std::regex_match(name, match, pattern) || match[2] == "1") return {};
  return fmt::format("{} of {}", match[1].str(), match[2].str());
}

}  // namespace strata::bert
