// The names of the configuration's choices, for reading, writing and documentation.
#pragma once

#include <span>

namespace strata::config {

template <typename Enum>
struct NamedChoice {
  Enum value;
  const char* name;
  const char* meaning;
};

// Returns every choice of `Enum`, in the order of the documentation.
template <typename Enum>
std::span<const NamedChoice<Enum>> choices_of();

}  // namespace strata::config
