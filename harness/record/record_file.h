// A file that grows by records during a run, and survives a full disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace strata::harness {

// Every record is in the file completely or not at all. A record that cannot be written is left
// out, and the next one is tried as usual. When a record can be written again, or at close(), a
// line on standard error names the missing steps. Not thread-safe.
class RecordFile {
 public:
  enum class Begin : uint8_t { kEmpty, kAtEnd };

  RecordFile() = default;  // ignores all records
  // Opens or creates `path`; kEmpty truncates it. Throws Error if it cannot, or if a link is there.
  RecordFile(std::filesystem::path path, Begin begin);
  ~RecordFile() { close(); }
  RecordFile(RecordFile&& other) noexcept { *this = std::move(other); }
  RecordFile& operator=(RecordFile&& other) noexcept;

  bool is_open() const { return fd_ >= 0; }
  // Returns false if the record of this step is left out; true if there is no file.
  bool append(std::string_view record, int64_t step);
  // Flushes to disk. A failure is reported on standard error once and is not thrown.
  void flush() noexcept;
  void close() noexcept;

 private:
  void report() noexcept;

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t bytes_ = 0;
  int64_t missing_ = 0, first_missing_ = 0, last_missing_ = 0;  // count, first and last
  int reason_ = 0;                                              // errno
  bool flush_failed_ = false;
};

}  // namespace strata::harness
