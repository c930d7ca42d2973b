#include "data/hdf5/library.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace strata::data::hdf5 {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::string library_reason() {
  std::string reason = "unknown cause";
  const auto keep_first = [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  // HDF5 1.10 says "inflate() failed", 1.14 "filter returned failure during read".
  if (reason.starts_with("inflate") || reason.starts_with("filter returned failure")) {
    reason += " (the file is damaged, or there was no memory)";
  }
  return reason;
}

void require(herr_t status, const std::string& where, std::string_view what) {
  if (status < 0) fail("{}: cannot {}: {}", where, what, library_reason());
}

Handle own(hid_t id, const std::string& where, std::string_view what) {
  if (id < 0) fail("{}: cannot {}: {}", where, what, library_reason());
  return Handle(id);
}

std::string attribute_place(const std::filesystem::path& file, const std::string& name) {
  return fmt::format("{}: attribute '{}'", file.string(), name);
}

Handle simple_space(const std::vector<uint64_t>& shape, const std::string& where) {
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  return own(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), where,
             "make a data space");
}

Handle scalar_space(const std::string& where) {
  return own(H5Screate(H5S_SCALAR), where, "make a data space");
}

}  // namespace strata::data::hdf5
