// The headers of objects in an HDF5 file, read without the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace strata::data::hdf5 {

// Walks over the messages of an object's header in the file itself (HDF5 File Format, IV.A),
// because the library follows what a virtual data set points to as it opens one, and trusts it.
class ObjectHeader {
 public:
  // `base`: where addresses count from. `address_bytes`, `length_bytes`: sizes of numbers.
  ObjectHeader(const std::filesystem::path& path, uint64_t base, size_t address_bytes,
               size_t length_bytes);

  // Whether a layout is found in the header at `address`, and none of those found is virtual.
  bool has_plain_layout(uint64_t address);

 private:
  static constexpr uint64_t kMostBytes = 1 << 20;  // of a header
  static constexpr int kMostBlocks = 1000;         // of a header, each of which may name the next
  static constexpr uint64_t kOldFill = 4, kFill = 5, kLayout = 8, kContinuation = 16;
  static constexpr unsigned char kVirtual = 3;

  std::string read(uint64_t address, uint64_t bytes);
  // Reads a little-endian number, which must lie inside `bytes`.
  static uint64_t number(std::string_view bytes, size_t at, size_t size);
  // False if a block cannot be read, a layout is virtual or too many bytes belong to the header.
  bool walk(uint64_t address, uint64_t bytes);
  bool take(uint64_t type, std::string_view message);
  // Whether the bytes that the number at `at` counts follow it.
  static bool fits(std::string_view message, size_t at);
  // The library takes a fill value's size for granted.
  static bool has_whole_fill(std::string_view message);

  std::ifstream in_;
  uint64_t base_;
  size_t address_bytes_, length_bytes_;
  bool is_new_ = false, tracks_order_ = false;
  uint64_t read_ = 0;
  int layouts_ = 0, blocks_ = 0;
};

}  // namespace strata::data::hdf5
