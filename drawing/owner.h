// Systems and their colours.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace strata::drawing {

// The colours of chart.css, which people tell apart whatever their eyes (after Okabe and Ito,
// "Color Universal Design") and which are dark enough for text.
inline constexpr int kColours = 7;

// The system that a mark belongs to.
struct Owner {
  int system = -1;  // its index in the report; -1: none
  int colour = -1;  // 0 to kColours - 1; -1: grey
  std::string name;

  // One that a page cannot pick.
  static Owner coloured(int colour, std::string name = "") { return {-1, colour, std::move(name)}; }
};

struct NamedSystem {
  std::string name, submitter;
};
// A colour for each system, given in the order of their median runs: one for each system if there
// are enough colours or only one submitter, else one for each submitter. Later ones are grey.
std::vector<int> colours_for(const std::vector<NamedSystem>& systems);

}  // namespace strata::drawing
