#include "data/hdf5/stored_types.h"

#include <fmt/format.h>

#include <cstdint>

#include "data/hdf5/hdf5.h"

namespace strata::data::hdf5 {

bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2) return false;
  const Handle base(H5Tget_super(type));
  uint64_t found = 0;
  for (unsigned i = 0; i < 2; ++i) {
    int64_t value = 0;  // room for any integer type
    if (H5Tget_size(type) > sizeof value || H5Tget_member_value(type, i, &value) < 0 ||
        H5Tconvert(base.get(), H5T_NATIVE_INT64, 1, &value, nullptr, H5P_DEFAULT) < 0 ||
        value < 0 || value > 1) {
      return false;
    }
    found |= uint64_t{1} << value;
  }
  return found == 3;
}

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

}  // namespace strata::data::hdf5
