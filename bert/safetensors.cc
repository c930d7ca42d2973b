#include "bert/safetensors.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "device/dtype.h"

namespace strata::bert {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestHeader = 100u << 20;  // the format's own limit

uint64_t element_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename Stored, typename Convert>
void convert_all(const std::string& bytes, std::span<float> values, const Convert& convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
}

StoredTensor parse_tensor(const std::string& file, const std::string& name, const json& entry,
                          uint64_t data_begin, uint64_t file_size) {
  StoredTensor tensor;
  try {
    tensor.dtype = entry.at("dtype").get<std::string>();
    tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    if (offsets.size() != 2 || offsets[0] > offsets[1]) fail("data_offsets must be [begin, end]");
    if (offsets[1] > file_size - data_begin) {
      fail("its data ends at byte {} but the file has {}; it is truncated, fetch it again",
           offsets[1] + data_begin, file_size);
    }
    tensor.begin = data_begin + offsets[0];
    tensor.end = data_begin + offsets[1];
    uint64_t bytes = element_bytes(tensor.dtype);
    if (bytes == 0) fail("unknown dtype {}", tensor.dtype);
    for (const int64_t extent : tensor.shape) {
      if (extent < 0 || (extent > 0 && bytes > file_size / static_cast<uint64_t>(extent))) {
        fail("its shape {} is larger than the file", json(tensor.shape).dump());
      }
      bytes *= static_cast<uint64_t>(extent);
    }
    if (bytes != tensor.end - tensor.begin) {
      fail("its shape {} needs {} bytes, its data_offsets give {}", json(tensor.shape).dump(),
           bytes, tensor.end - tensor.begin);
    }
  } catch (const json::exception& error) {
    fail("{}: tensor \"{}\": wrong header entry: {}", file, name, error.what());
  } catch (const Error& error) {
    fail("{}: tensor \"{}\": {}", file, name, error.what());
  }
  return tensor;
}

}  // namespace

int64_t StoredTensor::size() const {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return elements;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  const std::string file = path.string();
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const uint64_t file_size = std::filesystem::file_size(path, error);
  if (!in || error) fail("{}: cannot open this safetensors file; check model.checkpoint", file);
  uint64_t header_size = 0;
  static_assert(std::endian::native == std::endian::little);
  in.read(reinterpret_cast<char*>(&header_size), sizeof header_size);
  if (!in) fail("{}: {} bytes is too short for a safetensors file", file, file_size);
  if (header_size > kLargestHeader || header_size > file_size - sizeof header_size) {
    fail("{}: its header claims {} bytes but the file has {}: truncated, or not a safetensors file",
         file, header_size, file_size);
  }
  std::string header(header_size, '\0');
  in.read(header.data(), static_cast<std::streamsize>(header_size));
  if (!in) fail("{}: cannot read its header", file);
  const json entries = json::parse(header, nullptr, false);
  if (entries.is_discarded() || !entries.is_object()) {
    fail("{}: the header at byte 8 is not a JSON object: not a safetensors file", file);
  }
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    tensors_.emplace(name,
                     parse_tensor(file, name, entry, sizeof header_size + header_size, file_size));
  }
}

void SafetensorsFile::read(const std::string& name, std::span<float> values) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("{}: has no tensor \"{}\"", path_.string(), name);
  const StoredTensor& tensor = found->second;
  if (tensor.size() != static_cast<int64_t>(values.size())) {
    fail("{}: tensor \"{}\" has {} elements, {} were expected", path_.string(), name, tensor.size(),
         values.size());
  }
  std::string bytes(tensor.end - tensor.begin, '\0');
  std::ifstream in(path_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(tensor.begin));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) {
    fail("{}: cannot read tensor \"{}\" at byte {}", path_.string(), name, tensor.begin);
  }
  if (tensor.dtype == "F32") {
    convert_all<float>(bytes, values, [](float value) { return value; });
  } else if (tensor.dtype == "F64") {
    convert_all<double>(bytes, values, [](double value) { return static_cast<float>(value); });
  } else if (tensor.dtype == "F16") {
    convert_all<uint16_t>(bytes, values, from_half);
  } else if (tensor.dtype == "BF16") {
    convert_all<device::BFloat16>(bytes, values,
                                  [](device::BFloat16 value) { return float{value}; });
  } else {
    fail("{}: tensor \"{}\" is {}; weights must be F64, F32, F16 or BF16", path_.string(), name,
         tensor.dtype);
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const uint64_t bytes = tensor.values.size_bytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // readers map tensors in place: keep them aligned
  const uint64_t size = text.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  file.reserve(sizeof size + text.size() + offset);
  file += text;
  for (const NamedTensor& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  }
  write_file_atomically(path, file);
}

}  // namespace strata::bert
