// Parses numbers as std::from_chars does, also where the standard library parses no floating-point
// numbers (libc++ before version 20).
#pragma once

#include <charconv>
#ifndef __cpp_lib_to_chars
#include <fast_float/fast_float.h>

#include <concepts>
#endif

namespace strata {

#ifdef __cpp_lib_to_chars
using std::from_chars;
#else
template <std::integral Number>
std::from_chars_result from_chars(const char* first, const char* last, Number& value) {
  return std::from_chars(first, last, value);
}

inline std::from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto [end, error] = fast_float::from_chars(first, last, value);
  return {end, error};
}
#endif

}  // namespace strata
