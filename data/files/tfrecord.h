// TFRecord, TensorFlow's form of record files: for each record its length and bytes, each with a
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
  // Whether `path` begins as such a file does; false where it cannot be read.
  static bool is_one(const std::filesystem::path& path);

  // Walks over the lengths of all records. Throws Error naming the byte where they are damaged or
  // the file is truncated.
  explicit TfrecordFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return begins_.size(); }  // records
  // The bytes of a record; may be called from any thread. The file is open only meanwhile. Throws
  // Error where they do not have their checksum.
  std::string read(size_t record) const;
  // Calls visit(record, bytes) for all of them, in order. Throws as read() does.
  void for_each(const std::function<void(size_t record, const std::string& bytes)>& visit) const;
  // "FILE: record R at byte B", for messages.
  std::string place(size_t record) const;

 private:
  class OpenFile;
  std::string read(const OpenFile& file, size_t record) const;

  std::filesystem::path path_;
  std::vector<uint64_t> begins_;  // of the records' headers
};

}  // namespace strata::data
