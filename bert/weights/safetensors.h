// The safetensors file format: an 8-byte little-endian header size, a JSON header, raw tensors.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.h"
#include "bert/weights/tensor_file.h"

namespace strata::bert {

// Opens a file and checks its header against its length: every tensor lies inside the file and is
// as long as its shape says. Throws Error naming the file, the tensor and the offset.
class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  // What the file says of itself.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;

  std::map<std::string, std::string> metadata_;
};

// A tensor to be written.
struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", ...
  std::vector<int64_t> shape;
};

// Writes a file tensor after tensor, whole or not at all. Errors (disk full, no permission) throw
// Error.
class SafetensorsWriter {
 public:
  // The file's header.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                    const std::map<std::string, std::string>& metadata)
      : SafetensorsWriter(path, header_of(entries, metadata)) {}

  // The values of the entries, in their order.
  void write(std::span<const std::byte> bytes);
  // CRC-32C of all that has been written.
  uint32_t checksum() const { return checksum_; }
  // Throws Error where this is not all that the entries need.
  void commit();

 private:
  struct Header {
    std::string text;
    uint64_t bytes;  // of all tensors
  };
  // Made before there is a file: nlohmann json may end the process where it gets no memory.
  static Header header_of(std::span<const TensorEntry> entries,
                          const std::map<std::string, std::string>& metadata);
  SafetensorsWriter(const std::filesystem::path& path, const Header& header);
  void append(std::string_view bytes);

  AtomicFile file_;
  uint64_t missing_;  // bytes
  uint32_t checksum_ = 0;
};

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values;
};

// Writes F32 tensors, whole or not at all. Throws Error (disk full, no permission).
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace strata::bert
