// The names of the configuration's choices, for reading, writing and documentation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Returns the names of all choices, in that order.
template <typename Enum>
std::vector<std::string> names_of_choices() {
  std::vector<std::string> names;
  for (const auto& choice : choices_of<Enum>()) names.emplace_back(choice.name);
  return names;
}

// Returns the choice with a name, or nullopt if there is none.
template <typename Enum>
std::optional<Enum> choice_named(std::string_view name) {
  for (const auto& choice : choices_of<Enum>()) {
    if (choice.name == name) return choice.value;
  }
  return std::nullopt;
}

}  // namespace strata::config
