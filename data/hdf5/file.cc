#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/files/lines.h"
#include "data/hdf5/library.h"
#include "data/hdf5/object_header.h"
#include "data/hdf5/stored_types.h"

namespace strata::data::hdf5 {
namespace {

constexpr size_t kChunkCacheSlots = 12421;  // a prime well above the number of chunks that fit

// Says by a file's first bytes what it is if it is not HDF5, and what to do.
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

// HDF5 1.12 names an object by a token instead of its address.
#if H5_VERSION_GE(1, 12, 0)
using LinkInfo = H5L_info2_t;
using ObjectInfo = H5O_info2_t;

herr_t get_info(hid_t file, const std::string& name, LinkInfo& link) {
  return H5Lget_info2(file, name.c_str(), &link, H5P_DEFAULT);
}

herr_t get_info(hid_t file, const std::string& name, ObjectInfo& object) {
  return H5Oget_info_by_name3(file, name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT);
}

// Returns the address of the header of the object that a hard link names.
haddr_t address_of(hid_t file, const LinkInfo& link) {
  haddr_t address = HADDR_UNDEF;
  return H5VLnative_token_to_addr(file, link.u.token, &address) < 0 ? HADDR_UNDEF : address;
}
#else
using LinkInfo = H5L_info_t;
using ObjectInfo = H5O_info_t;

herr_t get_info(hid_t file, const std::string& name, LinkInfo& link) {
  return H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT);
}

herr_t get_info(hid_t file, const std::string& name, ObjectInfo& object) {
  return H5Oget_info_by_name2(file, name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT);
}

haddr_t address_of(hid_t /*file*/, const LinkInfo& link) { return link.u.address; }
#endif

}  // namespace

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
  // Read-only file systems and many network file systems refuse the lock; nobody writes meanwhile.
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
  LinkInfo link;
  if (get_info(id_.get(), name, link) >= 0 && link.type != H5L_TYPE_HARD) {
    fail("{}: is a link{}; copy the data set itself into the file", set.where_,
         link.type == H5L_TYPE_SOFT ? "" : " to another file");
  }
  ObjectInfo object;
  require(get_info(id_.get(), name, object), set.where_, "open");
  if (is_on_disk_ && object.type == H5O_TYPE_DATASET) {
    const Handle file = own(H5Fget_create_plist(id_.get()), set.where_, "read the layout");
    hsize_t base = 0;
    size_t address_bytes = 0, length_bytes = 0;
    require(H5Pget_userblock(file.get(), &base), set.where_, "read the layout");
    require(H5Pget_sizes(file.get(), &address_bytes, &length_bytes), set.where_, "read the layout");
    ObjectHeader header(path_, base, address_bytes, length_bytes);
    if (!header.has_plain_layout(address_of(id_.get(), link))) {
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
  const std::string where = attribute_place(path_, name);
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
  const std::string where = attribute_place(path_, name);
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

}  // namespace strata::data::hdf5
