// A small part of the HDF5 C API with owned handles and errors that name the file. Debian's library
// is not safe for threads: every call of the process takes one lock in here, so all types below may
// be used from any thread.
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

// The memory type for T: int8_t, uint8_t, int32_t, uint32_t, int64_t or uint64_t.
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
  std::string description() const;  // "name int32 [10, 512]"
  // Whether all of it was written; the library reads one value for the rest, however much it is.
  bool is_whole() const;
  // Throws Error naming the filter if the values are stored with one that the library lacks, and
  // naming the chunk if it is compressed and so large that every read would uncompress it anew.
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
  Handle select(uint64_t first_row, uint64_t row_count, uint64_t columns) const;  // lock held

  std::string where_;  // "file: data set 'name'"
  std::string name_;
  Handle id_;
  Handle space_;
  Handle transfer_;
  std::vector<uint64_t> shape_;
  std::string type_name_;
  H5T_class_t kind_ = H5T_NO_CLASS;
  H5T_class_t element_kind_ = H5T_NO_CLASS;  // of a variable-length row
  bool is_boolean_ = false;
};

class File {
 public:
  // Opens for reading. Throws Error with the library's reason.
  static File open(const std::filesystem::path& path);

  // A new file in memory; `path` only names it in messages.
  static File create_in_memory(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;  // of the root group's members
  // Throws Error if `name` is a link, or its values lie in other files (external storage, a virtual
  // data set).
  DataSet data_set(const std::string& name) const;
  std::optional<int64_t> integer_attribute(const std::string& name) const;
  std::optional<std::string> string_attribute(const std::string& name) const;

  void set_attribute(const std::string& name, int64_t value);
  void set_attribute(const std::string& name, std::string_view value);

  // Writes a whole data set of `shape`, stored as `file_type`. `compressed` stores it in chunks of
  // rows, deflated.
  template <typename T>
  void write(const std::string& name, hid_t file_type, const std::vector<uint64_t>& shape,
             const T* values, bool compressed = false) {
    write_bytes(name, file_type, shape, memory_type<T>(), values, compressed);
  }

  // Writes variable-length rows, stored as `file_type`: row i is values[offsets[i]..offsets[i+1]).
  void write_variable(const std::string& name, hid_t file_type, const std::vector<int32_t>& values,
                      const std::vector<uint64_t>& offsets);

  // The bytes a file in memory would have on disk, until something else is done with it.
  std::string_view image();

 private:
  void write_bytes(const std::string& name, hid_t file_type, const std::vector<uint64_t>& shape,
                   hid_t memory, const void* values, bool compressed);
  Handle create_data_set(const std::string& name, hid_t file_type,
                         const std::vector<uint64_t>& shape, bool compressed);  // lock held

  std::filesystem::path path_;
  Handle id_;
  bool is_on_disk_ = false;
};

}  // namespace strata::data::hdf5
