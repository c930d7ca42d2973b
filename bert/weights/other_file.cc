#include "bert/weights/other_file.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/lower_case.h"

namespace strata::bert {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBeginning = 4096;               // bytes that identify a file's format
constexpr uint64_t kMostHeaderBytes = 100 << 20;  // maximum safetensors header
constexpr uint64_t kLargestText = 16 << 20;       // maximum size of a text file read for a message

constexpr std::string_view kConvert =
    "load the model in transformers and write model.safetensors with save_pretrained";

constexpr std::string_view kText =
    "is text, not weights; give a safetensors file or a TensorFlow 1 checkpoint";

struct Signature {
  std::string_view bytes;
  std::string_view message;  // describes the file and the right one
};

// The first match wins. PyTorch's pickles are ZIP archives; old ones are bare.
constexpr Signature kSignatures[] = {
    {"version https://git-lfs",
     "is a Git LFS pointer, not the file itself; fetch it with git lfs "
     "pull"},
    {"\x89HDF\r\n\x1a\n",
     "is an HDF5 file, as Keras writes; load the model in transformers and write model.safetensors "
     "with save_pretrained"},
    {"PK\x03\x04",
     "is a ZIP archive, probably PyTorch's weights; load the model in transformers and write "
     "model.safetensors with save_pretrained"},
    {"\x1f\x8b", "is compressed with gzip; uncompress it with gunzip"},
    {"BZh", "is compressed with bzip2; uncompress it with bunzip2"},
    {"\xfd"
     "7zXZ",
     "is compressed with xz; uncompress it with unxz"},
    {"\x28\xb5\x2f\xfd", "is compressed with Zstandard; uncompress it with unzstd"},
    {"GGUF", "is a GGUF file; give safetensors of the model that is not quantized"},
    {"\x93NUMPY", "is a NumPy array; write the tensors as safetensors"},
};

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

bool begins_as_safetensors(std::string_view bytes, uint64_t file_size) {
  uint64_t header = 0;
  if (bytes.size() <= sizeof header || bytes[sizeof header] != '{') return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header <= std::min(kMostHeaderBytes, file_size);
}

bool is_text(std::string_view bytes) {
  return std::ranges::none_of(bytes, [](unsigned char c) { return c < ' ' && !std::isspace(c); });
}

// Recognises a bare pickle by the protocol opcode and version that PyTorch and Python write first.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

bool is_tar(std::string_view bytes) {
  return bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
}

// Describes the weights in a folder, or else its contents.
std::string describe_folder(const fs::path& folder) {
  std::vector<std::string> weights, indexes, pickles;
  bool is_saved_model = false;
  for (const fs::path& file : list_directory(folder)) {
    const std::string name = file.filename().string();
    if (name.ends_with(".safetensors.index.json")) {
      weights.insert(weights.begin(), file.string());  // named before the shards that it lists
    } else if (name.ends_with(".safetensors")) {
      weights.push_back(file.string());
    } else if (name.ends_with(".index")) {
      indexes.push_back(file.string().substr(0, file.string().size() - 6));
    } else if (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth")) {
      pickles.push_back(name);
    }
    is_saved_model = is_saved_model || name == "saved_model.pb";
  }
  if (!weights.empty()) return fmt::format("is a folder; give a file in it: {}", weights.front());
  if (!indexes.empty()) {
    return fmt::format("is a folder; give a TensorFlow checkpoint in it: {}", indexes.front());
  }
  if (is_saved_model) {
    return "is a SavedModel of TensorFlow 2; give the prefix of a TensorFlow 1 checkpoint, or "
           "safetensors";
  }
  if (!pickles.empty()) {
    return fmt::format("is a folder with PyTorch's pickle {}; {}", pickles.front(), kConvert);
  }
  return "is a folder without weights; give a safetensors file or a TensorFlow 1 checkpoint";
}

// TensorFlow's file "checkpoint" names the checkpoints in its folder.
std::string describe_list_of_checkpoints(const fs::path& path) {
  const std::string text = read_file(path);
  const size_t begin = text.find('"');
  const size_t end = begin == std::string::npos ? begin : text.find('"', begin + 1);
  const std::string told = end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
  return fmt::format(
      "is TensorFlow's list of checkpoints, not a checkpoint; give the prefix of a checkpoint{}",
      told.empty() ? "" : ": " + (path.parent_path() / fs::path(told).filename()).string());
}

std::string describe_json(const fs::path& path, uint64_t size) {
  const auto object = size > kLargestText ? nlohmann::json()
                                          : nlohmann::json::parse(read_file(path), nullptr, false);
  if (object.is_discarded()) return std::string(kText);
  if (object.is_object() && object.contains("weight_map")) {
    return fmt::format("is an index of shards that are not safetensors; {}", kConvert);
  }
  if (object.is_object() && object.contains("hidden_size")) {
    return "is a model's configuration, not its weights; give it as model.config, and the weights "
           "as model.checkpoint";
  }
  return "is JSON, not weights; give a safetensors file or a TensorFlow 1 checkpoint";
}

std::string describe(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return describe_folder(path);
  const uint64_t size = fs::file_size(path, error);
  if (error) return {};
  if (size == 0) return "is empty; fetch it again";
  std::string beginning(std::min<uint64_t>(size, kBeginning), '\0');
  std::ifstream in = open_to_read(path, std::ios::binary);
  if (!in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()))) return {};
  const std::string_view bytes = beginning;
  if (begins_as_safetensors(bytes, size)) return {};
  for (const Signature& signature : kSignatures) {
    if (bytes.starts_with(signature.bytes)) return std::string(signature.message);
  }
  if (is_pickle(bytes)) return fmt::format("is a pickle, as PyTorch writes; {}", kConvert);
  if (is_tar(bytes)) return "is a tar archive; unpack it with tar -xf";
  if (!is_text(bytes)) return {};
  const std::string_view text = without_leading_space(bytes);
  const std::string small = lower_case(text.substr(0, 64));
  for (const std::string_view page : {"<!doctype html", "<html", "<head", "<body"}) {
    if (small.starts_with(page)) {
      return "is a web page, probably a server's login or error page; read its first lines and "
             "fetch the file again";
    }
  }
  if (text.starts_with("<?xml") || text.starts_with("<")) {
    return "is XML, probably a server's error message; fetch the file again";
  }
  if (text.starts_with("model_checkpoint_path:") ||
      text.starts_with("all_model_checkpoint_paths:")) {
    return describe_list_of_checkpoints(path);
  }
  if (text.starts_with("{") || text.starts_with("[")) return describe_json(path, size);
  return bytes.size() > sizeof(uint64_t) ? std::string(kText) : "";
}

}  // namespace

void refuse_other_file(const fs::path& path) {
  if (const std::string is = describe(path); !is.empty()) fail("{}: {}", path.string(), is);
}

}  // namespace strata::bert
