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

// Opens a file and checks its header against its length: every tensor must lie inside the file and
// have the length of its shape. Throws Error naming the file, and the tensor if its entry is wrong.
class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  // The file's "__metadata__".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string read_bytes(const std::string& name, const StoredTensor& tensor) const override;

  std::map<std::string, std::string> metadata_;
};

// Description of a tensor to write.
struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", ...
  std::vector<int64_t> shape;
};

// Writes a file tensor by tensor, atomically. Throws Error if the disk is full or permission is
// missing.
class SafetensorsWriter {
 public:
  // Writes the file's header.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                    const std::map<std::string, std::string>& metadata)
      : SafetensorsWriter(path, header_of(entries, metadata)) {}

  // Writes the values of the entries, in their order.
  void write(std::span<const std::byte> bytes);
  // CRC-32C of all bytes written.
  uint32_t checksum() const { return checksum_; }
  // Throws Error if values of an entry are missing.
  void commit();

 private:
  struct Header {
    std::string text;
    uint64_t bytes;  // total of all tensors
  };
  // Made before the file is created, because nlohmann json may end the process when memory is
  // short.
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

// Writes F32 tensors atomically. Throws Error if the disk is full or permission is missing.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace strata::bert
