#include "data/hdf5/hdf5.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/error.h"
#include "base/files/lines.h"

namespace strata::data::hdf5 {
namespace {

constexpr size_t kMemoryFileGrowth = size_t{1} << 24;
constexpr size_t kSuperblockVersionAt = 8;
constexpr uint64_t kRowsPerChunk = 64;
constexpr unsigned kDeflateLevel = 1;
constexpr size_t kChunkCacheBytes = size_t{1} << 24;
// In every read that converts, the library clears its whole conversion buffer, by default 1 MiB.
// That takes 20 us for a sample's tokens instead of 1 us.
constexpr size_t kConversionBytes = 8192;
constexpr size_t kChunkCacheSlots = 12421;  // a prime well above the number of chunks that fit

// Recursive, because functions that hold the lock also close handles.
std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Held during every sequence of library calls; keeps the library from printing its errors.
class Lock {
 public:
  Lock() : guard_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

// Returns the innermost message of the library's error stack, which names the cause, on one line.
// For zlib the library reports only a failure, which may also mean that memory is short.
std::string library_reason() {
  std::string reason = "unknown cause";
  const auto keep_first = [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  if (reason.starts_with("inflate")) reason += " (the file is damaged, or there was no memory)";
  return reason;
}

void require(herr_t status, const std::string& where, std::string_view what) {
  if (status < 0) fail("{}: cannot {}: {}", where, what, library_reason());
}

Handle own(hid_t id, const std::string& where, std::string_view what) {
  if (id < 0) fail("{}: cannot {}: {}", where, what, library_reason());
  return Handle(id);
}

Handle simple_space(const std::vector<uint64_t>& shape, const std::string& where) {
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  return own(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), where,
             "make a data space");
}

Handle scalar_space(const std::string& where) {
  return own(H5Screate(H5S_SCALAR), where, "make a data space");
}

// True for an enumeration of two names with the values 0 and 1.
bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2) return false;
  const Handle base(H5Tget_super(type));
  uint64_t found = 0;
  for (unsigned i = 0; i < 2; ++i) {
    int64_t value = 0;  // large enough for any integer type
    if (H5Tget_size(type) > sizeof value || H5Tget_member_value(type, i, &value) < 0 ||
        H5Tconvert(base.get(), H5T_NATIVE_INT64, 1, &value, nullptr, H5P_DEFAULT) < 0 ||
        value < 0 || value > 1) {
      return false;
    }
    found |= uint64_t{1} << value;
  }
  return found == 3;
}

// Returns a filter's name, if it is a common one.
std::string filter_name(H5Z_filter_t filter, const char* stored) {
  constexpr std::pair<H5Z_filter_t, const char*> kNames[] = {
      {4, "SZIP"},           {307, "bzip2"}, {32000, "LZF"},       {32001, "Blosc"}, {32004, "LZ4"},
      {32008, "Bitshuffle"}, {32013, "ZFP"}, {32015, "Zstandard"}, {32026, "Blosc2"}};
  for (const auto& [id, name] : kNames) {
    if (id == filter) return fmt::format("{} ({})", name, filter);
  }
  return *stored ? fmt::format("{} ({})", one_line(stored, 40), filter) : std::to_string(filter);
}

// Names the kind of a file that is not HDF5 by its first bytes; empty if they do not tell.
std::string other_file(const std::filesystem::path& path) {
  std::string bytes(64, '\0');
  std::ifstream in = open_to_read(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  if (in.is_open() && bytes.empty()) return "the file is empty, copy it again";
  if (bytes.starts_with("version https://git-lfs")) {
    return "it is a Git LFS pointer, fetch the file itself with git lfs pull";
  }
  if (bytes.starts_with("<")) return "it is a web page, fetch the file again";
  return "make the file with 'strata data prepare' or copy it again";
}

// Walks over the messages of an object's header in the file itself (HDF5 File Format, IV.A). The
// library cannot be used for this: when it opens a virtual data set, it follows and trusts its
// sources.
class ObjectHeader {
 public:
  // `base` is the origin of addresses. `address_bytes` and `length_bytes` are sizes of numbers.
  ObjectHeader(const std::filesystem::path& path, uint64_t base, size_t address_bytes,
               size_t length_bytes)
      : in_(open_to_read(path, std::ios::binary)),
        base_(base),
        address_bytes_(address_bytes),
        length_bytes_(length_bytes) {}

  // True if the header at `address` has a layout, and no layout is virtual.
  bool has_plain_layout(uint64_t address) {
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

 private:
  static constexpr uint64_t kMostBytes = 1 << 20;  // limit for a header
  static constexpr int kMostBlocks = 1000;  // limit for a header; each block may name the next
  static constexpr uint64_t kOldFill = 4, kFill = 5, kLayout = 8, kContinuation = 16;
  static constexpr unsigned char kVirtual = 3;

  std::string read(uint64_t address, uint64_t bytes) {
    std::string out(bytes, '\0');
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(base_ + address));
    in_.read(out.data(), static_cast<std::streamsize>(bytes));
    out.resize(static_cast<size_t>(in_.gcount()));
    return out;
  }
  // Reads a little-endian number. Requires that it lies inside `bytes`.
  static uint64_t number(std::string_view bytes, size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    }
    return value;
  }

  // Returns false if a block cannot be read, a layout is virtual or the header is too large.
  bool walk(uint64_t address, uint64_t bytes) {
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
  bool take(uint64_t type, std::string_view message) {
    if (type == kLayout) {
      constexpr size_t kNewVersion = 3;  // older versions store the class third
      if (message.size() < 3) return false;
      ++layouts_;
      return message[message[0] < static_cast<char>(kNewVersion) ? 2 : 1] < kVirtual;
    }
    if (type == kOldFill) return fits(message, 0);
    if (type == kFill) return has_whole_fill(message);
    if (type != kContinuation) return true;
    if (message.size() < address_bytes_ + length_bytes_) return false;
    const uint64_t bytes = number(message, address_bytes_, length_bytes_);
    // Blocks of new headers have a signature before and a checksum after their messages.
    const uint64_t before = is_new_ ? 4 : 0, around = is_new_ ? 8 : 0;
    if (bytes < around) return false;
    if (++blocks_ > kMostBlocks) return false;
    return walk(number(message, 0, address_bytes_) + before, bytes - around);
  }

  // True if the number at `at` is not larger than the bytes that follow it.
  static bool fits(std::string_view message, size_t at) {
    return message.size() >= at + 4 && number(message, at, 4) <= message.size() - at - 4;
  }
  // The library does not check a fill value's size.
  static bool has_whole_fill(std::string_view message) {
    if (message.size() < 2) return false;
    if (message[0] >= 3) return (message[1] & 0x20) == 0 || fits(message, 2);
    return message.size() >= 4 && ((message[0] == 2 && message[3] == 0) || fits(message, 4));
  }

  std::ifstream in_;
  uint64_t base_;
  size_t address_bytes_, length_bytes_;
  bool is_new_ = false, tracks_order_ = false;
  uint64_t read_ = 0;
  int layouts_ = 0, blocks_ = 0;
};

std::string type_name(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "",
                         8 * H5Tget_size(type));
    case H5T_FLOAT:
      return fmt::format("float{}", 8 * H5Tget_size(type));
    case H5T_STRING:
      return "string";
    case H5T_BITFIELD:
      return fmt::format("bitfield{}", 8 * H5Tget_size(type));
    case H5T_ENUM:
      return is_boolean(type) ? "bool" : "enumeration";
    case H5T_VLEN:
      return "variable-length " + type_name(Handle(H5Tget_super(type)).get());
    default:
      return "compound or other";
  }
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

void Handle::close() noexcept {
  if (id_ < 0) return;
  const Lock lock;
  H5Idec_ref(id_);
}

template <>
hid_t memory_type<int8_t>() {
  return H5T_NATIVE_INT8;
}
template <>
hid_t memory_type<uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
hid_t memory_type<int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
hid_t memory_type<uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
hid_t memory_type<int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
hid_t memory_type<uint64_t>() {
  return H5T_NATIVE_UINT64;
}

std::string DataSet::description() const {
  return fmt::format("{} {} [{}]", name_, type_name_, fmt::join(shape_, ", "));
}

bool DataSet::is_whole() const {
  if (std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) return true;
  const Lock lock;
  const Handle creation = own(H5Dget_create_plist(id_.get()), where_, "read the layout");
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    require(H5Dget_space_status(id_.get(), &status), where_, "read the layout");
    return status == H5D_SPACE_STATUS_ALLOCATED;
  }
  // Compares uncompressed bytes, and compressed chunks are smaller.
  std::vector<hsize_t> chunk(shape_.size());
  require(H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), where_,
          "read the layout");
  hsize_t stored = 0, needed = 1;
  require(H5Dget_num_chunks(id_.get(), space_.get(), &stored), where_, "count the chunks");
  for (size_t i = 0; i < chunk.size(); ++i) {
    const hsize_t along = (shape_[i] - 1) / chunk[i] + 1;
    if (along > stored / needed) return false;
    needed *= along;
  }
  return true;
}

void DataSet::require_readable() const {
  constexpr size_t kNameBytes = 64;
  const Lock lock;
  const Handle creation = own(H5Dget_create_plist(id_.get()), where_, "read the layout");
  const int filters = H5Pget_nfilters(creation.get());
  require(filters, where_, "read the filters");
  for (int i = 0; i < filters; ++i) {
    char name[kNameBytes] = "";
    unsigned flags = 0, config = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof name, name, &config);
    require(filter, where_, "read the filters");
    name[kNameBytes - 1] = '\0';
    if (H5Zfilter_avail(filter) > 0) continue;
    fail(
        "{}: is compressed with the filter {}, which is not installed here; rewrite the file where "
        "it is: h5repack -f GZIP=1 OLD NEW, or copy its data sets with h5py",
        where_, filter_name(filter, name));
  }
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) {
    const Handle type = own(H5Dget_type(id_.get()), where_, "read the type");
    uint64_t needed = H5Tget_size(type.get());
    for (const uint64_t extent : shape_) {
      needed = extent != 0 && needed > UINT64_MAX / extent ? UINT64_MAX : needed * extent;
    }
    const uint64_t stored = H5Dget_storage_size(id_.get());  // 0: nothing was written
    if (stored != 0 && stored < needed) {
      fail("{}: needs {} bytes, of which {} are stored; the file is damaged, copy it again", where_,
           needed, stored);
    }
  }
  if (filters == 0 || shape_.empty() || H5Pget_layout(creation.get()) != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(shape_.size());
  require(H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), where_,
          "read the layout");
  const Handle type = own(H5Dget_type(id_.get()), where_, "read the type");
  uint64_t bytes = H5Tget_size(type.get());
  for (const hsize_t extent : chunk) {
    bytes = extent != 0 && bytes > UINT64_MAX / extent ? UINT64_MAX : bytes * extent;
  }
  if (bytes <= kChunkCacheBytes) return;
  std::vector<hsize_t> better = chunk;
  better[0] = std::min<hsize_t>(better[0], kRowsPerChunk);
  fail(
      "{}: has compressed chunks of [{}], {} MiB each, which every read of a sample would "
      "uncompress; rewrite the file with smaller ones: h5repack -l {}:CHUNK={} OLD NEW",
      where_, fmt::join(chunk, ", "), bytes >> 20, name_, fmt::join(better, "x"));
}

Handle DataSet::select(uint64_t first_row, uint64_t row_count, uint64_t columns) const {
  const hsize_t start[] = {first_row, 0};
  const hsize_t count[] = {row_count, columns};
  require(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), where_,
          "select rows");
  return simple_space({row_count * (shape_.size() == 1 ? 1 : columns)}, where_);
}

void DataSet::read_bytes(uint64_t first_row, uint64_t row_count, uint64_t columns, hid_t type,
                         void* out) const {
  if (row_count == 0 || columns == 0) return;
  const Lock lock;
  const Handle memory = select(first_row, row_count, columns);
  require(H5Dread(id_.get(), type, memory.get(), space_.get(), transfer_.get(), out), where_,
          fmt::format("read {} row(s) from row {}", row_count, first_row));
}

void DataSet::read_variable(uint64_t first_row, uint64_t row_count, std::vector<int32_t>& values,
                            std::vector<size_t>& lengths) const {
  values.clear();
  lengths.clear();
  const Lock lock;
  const Handle memory = select(first_row, row_count, 1);
  const Handle type = own(H5Tvlen_create(H5T_NATIVE_INT32), where_, "make a row type");
  std::vector<hvl_t> rows(row_count, hvl_t{0, nullptr});
  const herr_t status =
      H5Dread(id_.get(), type.get(), memory.get(), space_.get(), transfer_.get(), rows.data());
  const std::string reason = status < 0 ? library_reason() : "";
  for (const hvl_t& row : rows) {
    if (status < 0 || row.len == 0) {
      lengths.push_back(0);
      continue;
    }
    const auto* first = static_cast<const int32_t*>(row.p);
    values.insert(values.end(), first, first + row.len);
    lengths.push_back(row.len);
  }
  H5Dvlen_reclaim(type.get(), memory.get(), H5P_DEFAULT, rows.data());
  if (status < 0) {
    fail("{}: cannot read {} row(s) from row {}: {}", where_, row_count, first_row, reason);
  }
}

File File::open(const std::filesystem::path& path) {
  const Lock lock;
  File file;
  file.path_ = path;
  const std::string where = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("{}: is a directory, an HDF5 file was expected", where);
  }
  if (!std::filesystem::exists(path, ignored)) {
    fail(
        "{}: cannot open: No such file or directory; 'strata data prepare' makes such files, "
        "'strata "
        "data mlperf' those of MLPerf",
        where);
  }
  const Handle access = own(H5Pcreate(H5P_FILE_ACCESS), where, "make access properties");
  // Read-only file systems and many network file systems refuse the lock, and nobody writes
  // meanwhile.
  require(H5Pset_file_locking(access.get(), false, true), where, "set file locking");
  require(H5Pset_cache(access.get(), 0, kChunkCacheSlots, kChunkCacheBytes, 0.75), where,
          "set the chunk cache");
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) {
    std::error_code missing;
    const std::string reason = std::filesystem::exists(path, missing) || missing
                                   ? library_reason()
                                   : "No such file or directory";
    fail("{}: cannot open as HDF5: {}; {}", where, reason, other_file(path));
  }
  file.id_ = Handle(id);
  file.is_on_disk_ = true;
  return file;
}

File File::create_in_memory(const std::filesystem::path& path) {
  const Lock lock;
  File file;
  file.path_ = path;
  const std::string where = path.string();
  const Handle access = own(H5Pcreate(H5P_FILE_ACCESS), where, "make access properties");
  require(H5Pset_fapl_core(access.get(), kMemoryFileGrowth, false), where, "set the memory driver");
  // The library would read an existing file of this name into memory before truncating it.
  const std::string name = where + ".memory";
  file.id_ = own(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), where,
                 "create in memory");
  return file;
}

bool File::has(const std::string& name) const {
  const Lock lock;
  return H5Lexists(id_.get(), name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> File::names() const {
  const Lock lock;
  H5G_info_t group;
  require(H5Gget_info(id_.get(), &group), path_.string(), "list the data sets");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < group.nlinks; ++i) {
    const auto name_at = [&](char* out, size_t size) {
      return H5Lget_name_by_idx(id_.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, out, size,
                                H5P_DEFAULT);
    };
    const ssize_t size = name_at(nullptr, 0);
    if (size < 0) fail("{}: cannot list the data sets: {}", path_.string(), library_reason());
    std::string name(static_cast<size_t>(size), '\0');
    name_at(name.data(), name.size() + 1);
    names.push_back(std::move(name));
  }
  return names;
}

DataSet File::data_set(const std::string& name) const {
  const Lock lock;
  DataSet set;
  set.where_ = fmt::format("{}: data set '{}'", path_.string(), name);
  set.name_ = name;
  H5L_info_t link;
  if (H5Lget_info(id_.get(), name.c_str(), &link, H5P_DEFAULT) >= 0 && link.type != H5L_TYPE_HARD) {
    fail("{}: is a link{}; copy the data set itself into the file", set.where_,
         link.type == H5L_TYPE_SOFT ? "" : " to another file");
  }
  H5O_info_t object;
  require(H5Oget_info_by_name2(id_.get(), name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT),
          set.where_, "open");
  if (is_on_disk_ && object.type == H5O_TYPE_DATASET) {
    const Handle file = own(H5Fget_create_plist(id_.get()), set.where_, "read the layout");
    hsize_t base = 0;
    size_t address_bytes = 0, length_bytes = 0;
    require(H5Pget_userblock(file.get(), &base), set.where_, "read the layout");
    require(H5Pget_sizes(file.get(), &address_bytes, &length_bytes), set.where_, "read the layout");
    ObjectHeader header(path_, base, address_bytes, length_bytes);
    if (!header.has_plain_layout(link.u.address)) {
      fail(
          "{}: is a virtual data set, whose values lie in other files, or damaged; copy the values "
          "into one file",
          set.where_);
    }
  }
  set.id_ = own(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), set.where_, "open");
  const Handle creation = own(H5Dget_create_plist(set.id_.get()), set.where_, "read the layout");
  if (H5Pget_external_count(creation.get()) != 0) {
    fail("{}: has its values in other files (external storage); copy them into one file",
         set.where_);
  }
  set.transfer_ = own(H5Pcreate(H5P_DATASET_XFER), set.where_, "make transfer properties");
  require(H5Pset_buffer(set.transfer_.get(), kConversionBytes, nullptr, nullptr), set.where_,
          "set the conversion buffer");
  set.space_ = own(H5Dget_space(set.id_.get()), set.where_, "read the shape");
  const Handle type = own(H5Dget_type(set.id_.get()), set.where_, "read the type");
  set.type_name_ = type_name(type.get());
  set.is_boolean_ = is_boolean(type.get());
  set.kind_ = H5Tget_class(type.get());
  set.element_kind_ =
      set.kind_ == H5T_VLEN ? H5Tget_class(Handle(H5Tget_super(type.get())).get()) : set.kind_;
  const int rank = H5Sget_simple_extent_ndims(set.space_.get());
  require(rank, set.where_, "read the shape");
  std::vector<hsize_t> shape(static_cast<size_t>(rank));
  require(H5Sget_simple_extent_dims(set.space_.get(), shape.data(), nullptr), set.where_,
          "read the shape");
  set.shape_.assign(shape.begin(), shape.end());
  return set;
}

std::optional<int64_t> File::integer_attribute(const std::string& name) const {
  const Lock lock;
  if (H5Aexists(id_.get(), name.c_str()) <= 0) return std::nullopt;
  const std::string where = fmt::format("{}: attribute '{}'", path_.string(), name);
  const Handle attribute = own(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), where, "open");
  const Handle type = own(H5Aget_type(attribute.get()), where, "read the type");
  const Handle space = own(H5Aget_space(attribute.get()), where, "read the shape");
  if (H5Tget_class(type.get()) != H5T_INTEGER || H5Sget_simple_extent_npoints(space.get()) != 1) {
    fail("{}: is not one integer; make the file again", where);
  }
  int64_t value = 0;
  require(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), where, "read");
  return value;
}

std::optional<std::string> File::string_attribute(const std::string& name) const {
  const Lock lock;
  if (H5Aexists(id_.get(), name.c_str()) <= 0) return std::nullopt;
  const std::string where = fmt::format("{}: attribute '{}'", path_.string(), name);
  const Handle attribute = own(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), where, "open");
  const Handle type = own(H5Aget_type(attribute.get()), where, "read the type");
  const Handle space = own(H5Aget_space(attribute.get()), where, "read the shape");
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0 ||
      H5Sget_simple_extent_npoints(space.get()) != 1) {
    fail("{}: is not one fixed-length string; make the file again", where);
  }
  std::string value(H5Tget_size(type.get()), '\0');
  require(H5Aread(attribute.get(), type.get(), value.data()), where, "read");
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

void File::set_attribute(const std::string& name, int64_t value) {
  const Lock lock;
  const std::string where = fmt::format("{}: attribute '{}'", path_.string(), name);
  const Handle space = scalar_space(where);
  const Handle attribute =
      own(H5Acreate2(id_.get(), name.c_str(), H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
          where, "create");
  require(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), where, "write");
}

void File::set_attribute(const std::string& name, std::string_view value) {
  const Lock lock;
  const std::string where = fmt::format("{}: attribute '{}'", path_.string(), name);
  const std::string terminated(value);
  const Handle type = own(H5Tcopy(H5T_C_S1), where, "make a string type");
  require(H5Tset_size(type.get(), terminated.size() + 1), where, "size a string type");
  require(H5Tset_cset(type.get(), H5T_CSET_UTF8), where, "make a UTF-8 type");
  const Handle space = scalar_space(where);
  const Handle attribute =
      own(H5Acreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
          where, "create");
  require(H5Awrite(attribute.get(), type.get(), terminated.c_str()), where, "write");
}

Handle File::create_data_set(const std::string& name, hid_t file_type,
                             const std::vector<uint64_t>& shape, bool compressed) {
  const std::string where = fmt::format("{}: data set '{}'", path_.string(), name);
  const Handle space = simple_space(shape, where);
  const Handle creation = own(H5Pcreate(H5P_DATASET_CREATE), where, "make creation properties");
  // Times would make equal data differ in its bytes.
  require(H5Pset_obj_track_times(creation.get(), false), where, "leave out times");
  if (compressed && shape[0] > 0) {
    std::vector<hsize_t> chunk(shape.begin(), shape.end());
    chunk[0] = std::min<hsize_t>(chunk[0], kRowsPerChunk);
    require(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), where,
            "set chunks");
    require(H5Pset_deflate(creation.get(), kDeflateLevel), where, "set compression");
  }
  return own(H5Dcreate2(id_.get(), name.c_str(), file_type, space.get(), H5P_DEFAULT,
                        creation.get(), H5P_DEFAULT),
             where, "create");
}

void File::write_bytes(const std::string& name, hid_t file_type, const std::vector<uint64_t>& shape,
                       hid_t memory, const void* values, bool compressed) {
  const Lock lock;
  const Handle set = create_data_set(name, file_type, shape, compressed);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  require(H5Dwrite(set.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), path_.string(),
          "write data set " + name);
}

void File::write_variable(const std::string& name, hid_t file_type,
                          const std::vector<int32_t>& values,
                          const std::vector<uint64_t>& offsets) {
  const Lock lock;
  const std::string where = path_.string();
  const Handle stored = own(H5Tvlen_create(file_type), where, "make a row type");
  const Handle memory = own(H5Tvlen_create(H5T_NATIVE_INT32), where, "make a row type");
  std::vector<hvl_t> rows(offsets.size() - 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    // The library takes pointers to non-const rows even for writing.
    rows[i] = {offsets[i + 1] - offsets[i], const_cast<int32_t*>(values.data() + offsets[i])};
  }
  const Handle set = create_data_set(name, stored.get(), {rows.size()}, false);
  if (rows.empty()) return;
  require(H5Dwrite(set.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), where,
          "write data set " + name);
}

std::string_view File::image() {
  const Lock lock;
  const std::string where = path_.string();
  require(H5Fflush(id_.get(), H5F_SCOPE_GLOBAL), where, "finish in memory");
  const ssize_t size = H5Fget_file_image(id_.get(), nullptr, 0);
  // The memory driver's handle is the address of the pointer to the file's first byte.
  void* handle = nullptr;
  if (size < 0 || H5Fget_vfd_handle(id_.get(), H5P_DEFAULT, &handle) < 0) {
    fail("{}: cannot finish in memory: {}", where, library_reason());
  }
  char* const bytes = *static_cast<char**>(handle);
  // Clears the flags of open files, as H5Fget_file_image does in its copy (HDF5 File Format,
  // III.A).
  const bool is_old = bytes[kSuperblockVersionAt] < 2;
  std::memset(bytes + (is_old ? 20 : 11), 0, is_old ? 4 : 1);
  return {bytes, static_cast<size_t>(size)};
}

}  // namespace strata::data::hdf5
