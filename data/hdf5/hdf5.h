// A small part of the HDF5 C API with owned handles and errors that name the file. Debian's library
// is not thread-safe, so every call in the process takes one lock here. That makes all types below
// thread-safe.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::data::hdf5 {

// Owns any HDF5 identifier.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { close(); }
  hid_t get() const { return id_; }

 private:
  void close() noexcept;
  hid_t id_ = H5I_INVALID_HID;
};

// Returns the memory type of T: int8_t, uint8_t, int32_t, uint32_t, int64_t or uint64_t.
template <typename T>
hid_t memory_type();

// A data set of integers, of booleans (as h5py writes them: an enumeration of 0 and 1), or of
// variable-length rows of integers.
class DataSet {
 public:
  const std::vector<uint64_t>& shape() const { return shape_; }
  uint64_t rows() const { return shape_.empty() ? 0 : shape_[0]; }
  bool is_integer() const { return kind_ == H5T_INTEGER || is_boolean_; }
  bool is_variable() const { return kind_ == H5T_VLEN && element_kind_ == H5T_INTEGER; }
  std::string description() const;  // for example "name int32 [10, 512]"
  // True if all of it was written. For missing parts, however large, the library reads fill values.
  bool is_whole() const;
  // Throws Error naming the filter if the library lacks one that the values are stored with. Throws
  // Error naming the chunk if it is compressed and so large that every read would decompress it
  // again.
  void require_readable() const;

  // Reads the hyperslab [first_row, first_row + rows) x [0, columns) into `out`, row by row;
  // `columns` is 1 for a one-dimensional data set. Values are converted, and clamped to T.
  template <typename T>
  void read(uint64_t first_row, uint64_t row_count, uint64_t columns, T* out) const {
    read_bytes(first_row, row_count, columns, memory_type<T>(), out);
  }

  // Reads variable-length rows; `values` receives them one after the other, `lengths` their sizes.
  void read_variable(uint64_t first_row, uint64_t row_count, std::vector<int32_t>& values,
                     std::vector<size_t>& lengths) const;

 private:
  friend class File;
  void read_bytes(uint64_t first_row, uint64_t row_count, uint64_t columns, hid_t type,
                  void* out) const;
  // Requires the lock.
  Handle select(uint64_t first_row, uint64_t row_count, uint64_t columns) const;

  std::string where_;  // for example "file: data set 'name'"
  std::string name_;
  Handle id_;
  Handle space_;
  Handle transfer_;
  std::vector<uint64_t> shape_;
  std::string type_name_;
  H5T_class_t kind_ = H5T_NO_CLASS;
  H5T_class_t element_kind_ = H5T_NO_CLASS;  // kind of the elements of a variable-length row
  bool is_boolean_ = false;
};

class File {
 public:
  // Opens for reading. Throws Error with the library's reason.
  static File open(const std::filesystem::path& path);

  // Creates a file in memory; `path` only names it in messages.
  static File create_in_memory(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;  // members of the root group
  // Throws Error if `name` is a link, or its values lie in other files (external storage, a virtual
  // data set).
  DataSet data_set(const std::string& name) const;
  std::optional<int64_t> integer_attribute(const std::string& name) const;
  std::optional<std::string> string_attribute(const std::string& name) const;

  void set_attribute(const std::string& name, int64_t value);
  void set_attribute(const std::string& name, std::string_view value);

  // Writes a whole data set of `shape`, stored as `file_type`. `compressed` stores it in deflated
  // chunks of rows.
  template <typename T>
  void write(const std::string& name, hid_t file_type, const std::vector<uint64_t>& shape,
             const T* values, bool compressed = false) {
    write_bytes(name, file_type, shape, memory_type<T>(), values, compressed);
  }

  // Writes variable-length rows, stored as `file_type`: row i is values[offsets[i]..offsets[i+1]).
  void write_variable(const std::string& name, hid_t file_type, const std::vector<int32_t>& values,
                      const std::vector<uint64_t>& offsets);

  // Returns the bytes that a file in memory would have on disk, valid until the next operation on
  // the file.
  std::string_view image();

 private:
  void write_bytes(const std::string& name, hid_t file_type, const std::vector<uint64_t>& shape,
                   hid_t memory, const void* values, bool compressed);
  Handle create_data_set(const std::string& name, hid_t file_type,
                         const std::vector<uint64_t>& shape, bool compressed);  // requires the lock

  std::filesystem::path path_;
  Handle id_;
  bool is_on_disk_ = false;
};

}  // namespace strata::data::hdf5
