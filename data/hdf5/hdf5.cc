#include "data/hdf5/hdf5.h"

#include <utility>

#include "data/hdf5/library.h"

namespace strata::data::hdf5 {

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

}  // namespace strata::data::hdf5
