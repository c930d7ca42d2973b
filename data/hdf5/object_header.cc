#include "data/hdf5/object_header.h"

#include "base/files/lines.h"

namespace strata::data::hdf5 {

ObjectHeader::ObjectHeader(const std::filesystem::path& path, uint64_t base, size_t address_bytes,
                           size_t length_bytes)
    : in_(open_to_read(path, std::ios::binary)),
      base_(base),
      address_bytes_(address_bytes),
      length_bytes_(length_bytes) {}

bool ObjectHeader::has_plain_layout(uint64_t address) {
  constexpr size_t kPrefix = 32;  // longer than the prefix of either version
  const std::string prefix = read(address, kPrefix);
  if (prefix.size() < kPrefix) return false;
  size_t at = 0;
  uint64_t bytes = 0;
  if (prefix.starts_with("OHDR")) {
    const auto flags = static_cast<unsigned char>(prefix[5]);
    is_new_ = true;
    tracks_order_ = (flags & 0x04) != 0;
    at = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const size_t size_bytes = size_t{1} << (flags & 0x03);
    bytes = number(prefix, at, size_bytes);
    at += size_bytes;
  } else {
    if (prefix[0] != 1) return false;
    bytes = number(prefix, 8, 4);
    at = 16;
  }
  return walk(address + at, bytes) && layouts_ > 0;
}

std::string ObjectHeader::read(uint64_t address, uint64_t bytes) {
  std::string out(bytes, '\0');
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(base_ + address));
  in_.read(out.data(), static_cast<std::streamsize>(bytes));
  out.resize(static_cast<size_t>(in_.gcount()));
  return out;
}

uint64_t ObjectHeader::number(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

bool ObjectHeader::walk(uint64_t address, uint64_t bytes) {
  read_ += bytes;
  if (bytes > kMostBytes || read_ > kMostBytes) return false;
  const std::string block = read(address, bytes);
  if (block.size() < bytes) return false;
  const size_t head = is_new_ ? (tracks_order_ ? 6 : 4) : 8;
  for (size_t at = 0; at + head <= block.size();) {
    const uint64_t type = number(block, at, is_new_ ? 1 : 2);
    const size_t size = number(block, at + (is_new_ ? 1 : 2), 2);
    at += head;
    if (size > block.size() - at) break;  // a gap, or a checksum
    if (!take(type, std::string_view(block).substr(at, size))) return false;
    at += size;
  }
  return true;
}

bool ObjectHeader::take(uint64_t type, std::string_view message) {
  if (type == kLayout) {
    constexpr size_t kNewVersion = 3;  // before it the class comes third
    if (message.size() < 3) return false;
    ++layouts_;
    return message[message[0] < static_cast<char>(kNewVersion) ? 2 : 1] < kVirtual;
  }
  if (type == kOldFill) return fits(message, 0);
  if (type == kFill) return has_whole_fill(message);
  if (type != kContinuation) return true;
  if (message.size() < address_bytes_ + length_bytes_) return false;
  const uint64_t bytes = number(message, address_bytes_, length_bytes_);
  // Blocks of new headers have a signature before and a checksum behind their messages.
  const uint64_t before = is_new_ ? 4 : 0, around = is_new_ ? 8 : 0;
  if (bytes < around) return false;
  if (++blocks_ > kMostBlocks) return false;
  return walk(number(message, 0, address_bytes_) + before, bytes - around);
}

bool ObjectHeader::fits(std::string_view message, size_t at) {
  return message.size() >= at + 4 && number(message, at, 4) <= message.size() - at - 4;
}

bool ObjectHeader::has_whole_fill(std::string_view message) {
  if (message.size() < 2) return false;
  if (message[0] >= 3) return (message[1] & 0x20) == 0 || fits(message, 2);
  return message.size() >= 4 && ((message[0] == 2 && message[3] == 0) || fits(message, 4));
}

}  // namespace strata::data::hdf5
