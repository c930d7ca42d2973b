// TFRecord, TensorFlow's record file format: the length and bytes of each record, each with a
// checksum (tensorflow/core/lib/io/record_writer.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace strata::data {

class TfrecordFile {
 public:
  // True if `path` begins like a TFRecord file; false if it cannot be read.
  static bool is_one(const std::filesystem::path& path);

  // Reads the lengths of all records. Throws Error naming the byte if they are damaged or the file
  // is truncated.
  explicit TfrecordFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return begins_.size(); }  // number of records
  // Reads a record. Thread-safe. The file is open only during the call. Throws Error if the
  // checksum is wrong.
  std::string read(size_t record) const;
  // Calls visit(record, bytes) for all records, in order. Throws as read() does.
  void for_each(const std::function<void(size_t record, const std::string& bytes)>& visit) const;
  // Returns "FILE: record R at byte B", for messages.
  std::string place(size_t record) const;

 private:
  class OpenFile;
  std::string read(const OpenFile& file, size_t record) const;

  std::filesystem::path path_;
  std::vector<uint64_t> begins_;  // positions of the records' headers
};

}  // namespace strata::data
