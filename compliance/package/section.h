// The outcome of one part of a check, ready to be printed.
#pragma once

#include <string>
#include <vector>

namespace strata::compliance {

struct Section {
  std::string title;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;

  bool passed() const { return errors.empty(); }
};

// Whether all have passed.
bool all_passed(const std::vector<Section>& sections);

}  // namespace strata::compliance
