// The names of the run configuration's choices, for reading, writing and documenting them alike.
#pragma once

#include <span>

namespace strata::config {

template <typename Enum>
struct NamedChoice {
  Enum value;
  const char* name;
  const char* meaning;
};

// Every choice of `Enum`, the order it is documented in.
template <typename Enum>
std::span<const NamedChoice<Enum>> choices_of();

}  // namespace strata::config
