#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "data/hdf5/library.h"

namespace strata::data::hdf5 {
namespace {

constexpr size_t kMemoryFileGrowth = size_t{1} << 24;
constexpr size_t kSuperblockVersionAt = 8;
constexpr unsigned kDeflateLevel = 1;

}  // namespace

File File::create_in_memory(const std::filesystem::path& path) {
  const Lock lock;
  File file;
  file.path_ = path;
  const std::string where = path.string();
  const Handle access = own(H5Pcreate(H5P_FILE_ACCESS), where, "make access properties");
  require(H5Pset_fapl_core(access.get(), kMemoryFileGrowth, false), where, "set the memory driver");
  // A file of the name given would be read into memory before it is emptied.
  const std::string name = where + ".memory";
  file.id_ = own(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), where,
                 "create in memory");
  return file;
}

void File::set_attribute(const std::string& name, int64_t value) {
  const Lock lock;
  const std::string where = attribute_place(path_, name);
  const Handle space = scalar_space(where);
  const Handle attribute =
      own(H5Acreate2(id_.get(), name.c_str(), H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
          where, "create");
  require(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), where, "write");
}

void File::set_attribute(const std::string& name, std::string_view value) {
  const Lock lock;
  const std::string where = attribute_place(path_, name);
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
    // The library takes rows to write by pointers that are not const.
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
  // The memory driver's handle is where it keeps the pointer to the file's first byte.
  void* handle = nullptr;
  if (size < 0 || H5Fget_vfd_handle(id_.get(), H5P_DEFAULT, &handle) < 0) {
    fail("{}: cannot finish in memory: {}", where, library_reason());
  }
  char* const bytes = *static_cast<char**>(handle);
  // Clears the flags of open files, like H5Fget_file_image in its copy (HDF5 File Format, III.A).
  const bool is_old = bytes[kSuperblockVersionAt] < 2;
  std::memset(bytes + (is_old ? 20 : 11), 0, is_old ? 4 : 1);
  return {bytes, static_cast<size_t>(size)};
}

}  // namespace strata::data::hdf5
