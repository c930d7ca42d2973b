#include "data/files/tfrecord.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/files/lines.h"

namespace strata::data {
namespace {

constexpr size_t kHeaderBytes = 12;  // length and its checksum
constexpr size_t kFooterBytes = 4;   // the record's checksum

uint32_t read_u32(const char* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Reads the length from a header. Returns false if its checksum is wrong.
bool parse_header(const char* header, uint64_t& length) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&length, header, sizeof length);
  return masked_crc32c({header, sizeof length}) == read_u32(header + sizeof length);
}

}  // namespace

class TfrecordFile::OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Returns false at the end of the file.
  bool read(uint64_t offset, char* out, size_t bytes) const {
    while (bytes > 0) {
      const ssize_t count = ::pread(descriptor_, out, bytes, static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        fail("{}: cannot be read at byte {}: {}", path_.string(), offset, std::strerror(errno));
      }
      if (count == 0) return false;
      out += count;
      offset += static_cast<uint64_t>(count);
      bytes -= static_cast<size_t>(count);
    }
    return true;
  }

 private:
  const std::filesystem::path& path_;
  int descriptor_;
};

bool TfrecordFile::is_one(const std::filesystem::path& path) {
  char header[kHeaderBytes];
  uint64_t length;
  return open_to_read(path, std::ios::binary).read(header, sizeof header) &&
         parse_header(header, length);
}

TfrecordFile::TfrecordFile(const std::filesystem::path& path) : path_(path) {
  const OpenFile file(path);
  std::error_code error;
  const uint64_t end = std::filesystem::file_size(path, error);
  if (error) fail("{}: cannot be read: {}", path.string(), error.message());
  for (uint64_t at = 0; at < end;) {
    char header[kHeaderBytes];
    uint64_t length = 0;
    begins_.push_back(at);
    if (!file.read(at, header, sizeof header)) {
      fail("{}: the file ends inside its header; it is truncated, fetch it again",
           place(size() - 1));
    }
    if (!parse_header(header, length)) {
      fail("{}: its length does not match its checksum; the file is damaged, fetch it again",
           place(size() - 1));
    }
    if (end - at < kHeaderBytes + kFooterBytes || length > end - at - kHeaderBytes - kFooterBytes) {
      fail("{}: has {} bytes, but the file ends at byte {}; it is truncated, fetch it again",
           place(size() - 1), length, end);
    }
    at += kHeaderBytes + length + kFooterBytes;
  }
}

std::string TfrecordFile::place(size_t record) const {
  return fmt::format("{}: record {} at byte {}", path_.string(), record, begins_[record]);
}

std::string TfrecordFile::read(size_t record) const { return read(OpenFile(path_), record); }

void TfrecordFile::for_each(
    const std::function<void(size_t record, const std::string& bytes)>& visit) const {
  const OpenFile file(path_);
  for (size_t record = 0; record < size(); ++record) visit(record, read(file, record));
}

std::string TfrecordFile::read(const OpenFile& file, size_t record) const {
  const auto changed = [&] { fail("{}: changed after it was opened; start again", place(record)); };
  char header[kHeaderBytes];
  uint64_t length = 0;
  if (!file.read(begins_[record], header, sizeof header) || !parse_header(header, length)) {
    changed();
  }
  std::string bytes(length + kFooterBytes, '\0');
  if (!file.read(begins_[record] + kHeaderBytes, bytes.data(), bytes.size())) changed();
  const uint32_t checksum = read_u32(bytes.data() + length);
  bytes.resize(length);
  if (masked_crc32c(bytes) != checksum) {
    fail("{}: its bytes do not match their checksum; the file is damaged, fetch it again",
         place(record));
  }
  return bytes;
}

}  // namespace strata::data
