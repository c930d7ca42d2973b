// Types of values as HDF5 files store them.
#pragma once

#include <hdf5.h>

#include <string>

namespace strata::data::hdf5 {

// Whether a type is an enumeration of two names with the values 0 and 1.
bool is_boolean(hid_t type);

// A type in words: "int32", "variable-length int32", "string".
std::string type_name(hid_t type);

}  // namespace strata::data::hdf5
