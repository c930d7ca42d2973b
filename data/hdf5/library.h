// Calls of the HDF5 library, one sequence at a time, whose failures are errors.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "data/hdf5/hdf5.h"

namespace strata::data::hdf5 {

// The library clears its whole conversion buffer, 1 MiB unless told otherwise, in every read that
// converts: 20 us for a sample's tokens instead of 1.
inline constexpr size_t kConversionBytes = 8192;
inline constexpr uint64_t kRowsPerChunk = 64;
inline constexpr size_t kChunkCacheBytes = size_t{1} << 24;

// Recursive, because handles are closed both by and beside the functions that hold it.
std::recursive_mutex& library_mutex();

// Held during every sequence of library calls; keeps the library from printing its errors.
class Lock {
 public:
  Lock() : guard_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

// The innermost message of the library's error stack, which tells the cause, in one line. Of zlib
// the library says only that it failed, which it does for want of memory, too.
std::string library_reason();

// Throws Error "WHERE: cannot WHAT: REASON" if `status` is a failure.
void require(herr_t status, const std::string& where, std::string_view what);
// Returns the identifier with an owner. Throws as require() does.
Handle own(hid_t id, const std::string& where, std::string_view what);

// Names an attribute in errors.
std::string attribute_place(const std::filesystem::path& file, const std::string& name);

Handle simple_space(const std::vector<uint64_t>& shape, const std::string& where);
Handle scalar_space(const std::string& where);

}  // namespace strata::data::hdf5
