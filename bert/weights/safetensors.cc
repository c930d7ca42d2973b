#include "bert/weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/files/lines.h"
#include "base/text/counts.h"
#include "base/text/json.h"

namespace strata::bert {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestHeader = 100u << 20;  // the format's own limit

// Reads a list of numbers strictly, because the JSON library would convert other types and values
// out of range.
std::vector<uint64_t> list_of_sizes(const json& entry, const char* key) {
  const json& list = entry.at(key);
  const auto is_size = [](const json& value) { return value.is_number_unsigned(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_size)) {
    fail("{} must be a list of integers of at least 0", key);
  }
  return list.get<std::vector<uint64_t>>();
}

StoredTensor parse_tensor(const std::string& file, const std::string& name, const json& entry,
                          uint64_t data_begin, uint64_t file_size) {
  StoredTensor tensor;
  try {
    tensor.dtype = entry.at("dtype").get<std::string>();
    const std::vector<uint64_t> shape = list_of_sizes(entry, "shape");
    tensor.shape.assign(shape.begin(), shape.end());
    const std::vector<uint64_t> offsets = list_of_sizes(entry, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) fail("data_offsets must be [begin, end]");
    if (offsets[1] > file_size - data_begin) {
      fail("its data ends at byte {} but the file has {}; it is truncated, fetch it again",
           offsets[1] + data_begin, file_size);
    }
    tensor.begin = data_begin + offsets[0];
    tensor.end = data_begin + offsets[1];
    const uint64_t bytes = tensor_bytes(tensor.dtype, tensor.shape, file_size);
    if (bytes != tensor.end - tensor.begin) {
      fail("its shape {} needs {}, but its data_offsets give {}", json_text(json(tensor.shape)),
           counted(bytes, "byte"), tensor.end - tensor.begin);
    }
  } catch (const json::exception& error) {
    fail("{}: tensor \"{}\": wrong header entry: {}", file, name, error.what());
  } catch (const Error& error) {
    fail("{}: tensor \"{}\": {}", file, name, error.what());
  }
  return tensor;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : TensorFile(path) {
  const std::string file = path.string();
  std::ifstream in = open_to_read(path, std::ios::binary);
  std::error_code error;
  const uint64_t file_size = std::filesystem::file_size(path, error);
  if (!in || error) fail("{}: cannot open this safetensors file; check model.checkpoint", file);
  uint64_t header_size = 0;
  static_assert(std::endian::native == std::endian::little);
  in.read(reinterpret_cast<char*>(&header_size), sizeof header_size);
  if (!in) fail("{}: too short for a safetensors file: {}", file, counted(file_size, "byte"));
  if (header_size > kLargestHeader || header_size > file_size - sizeof header_size) {
    fail(
        "{}: its header claims {} bytes but the file has {}: the file is truncated, or not a "
        "safetensors file",
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
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items()) {
        if (value.is_string()) metadata_[key] = value;
      }
      continue;
    }
    tensors_.emplace(name,
                     parse_tensor(file, name, entry, sizeof header_size + header_size, file_size));
  }
}

std::string SafetensorsFile::read_bytes(const std::string& name, const StoredTensor& tensor) const {
  return read_tensor_bytes(path_, name, tensor.begin, tensor.end);
}

SafetensorsWriter::Header SafetensorsWriter::header_of(
    std::span<const TensorEntry> entries, const std::map<std::string, std::string>& metadata) {
  json header = {{"__metadata__", metadata}};
  uint64_t bytes = 0;
  for (const TensorEntry& entry : entries) {
    const uint64_t end = bytes + tensor_bytes(entry.dtype, entry.shape, UINT64_MAX);
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {bytes, end}}};
    bytes = end;
  }
  std::string text = json_text(header);
  // Readers map tensors in place, so their data must be aligned.
  text.append((8 - text.size() % 8) % 8, ' ');
  return {std::move(text), bytes};
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, const Header& header)
    : file_(path), missing_(header.bytes) {
  const uint64_t size = header.text.size();
  append({reinterpret_cast<const char*>(&size), sizeof size});
  append(header.text);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  missing_ -= std::min<uint64_t>(missing_, bytes.size());
}

void SafetensorsWriter::append(std::string_view bytes) {
  checksum_ = crc32c(bytes, checksum_);
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  if (missing_ != 0)
    fail("the tensors have {} less than their shapes need", counted(missing_, "byte"));
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, "F32", tensor.shape});
  SafetensorsWriter file(path, entries, {{"format", "pt"}});
  for (const NamedTensor& tensor : tensors) file.write(std::as_bytes(tensor.values));
  file.commit();
}

}  // namespace strata::bert
