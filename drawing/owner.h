// Systems and their colours.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata::drawing {

// The number of colours of chart.css. They are safe for colour-blind people (after Okabe and Ito,
// "Color Universal Design") and dark enough for text.
inline constexpr int kColours = 7;

// The system that a mark belongs to.
struct Owner {
  int system = -1;  // index in the report; -1: none
  int colour = -1;  // 0 to kColours - 1; -1: grey
  std::string name;
  std::string detail = {};  // text after the name, never shortened, such as "8 A100"

  // Returns "name, detail". Cuts the middle of the name if the whole has more than `most`
  // characters, but leaves the name at least 8.
  std::string label(size_t most) const;

  // Returns an owner that a page cannot pick.
  static Owner coloured(int colour, std::string name = "", std::string detail = "") {
    return {-1, colour, std::move(name), std::move(detail)};
  }
};

struct NamedSystem {
  std::string name, submitter;
};
// Returns a colour for each system. `systems` are in the order of their median runs. Each gets its
// own colour if there are enough colours or only one submitter, else each submitter gets one. The
// rest are grey.
std::vector<int> colours_for(const std::vector<NamedSystem>& systems);

}  // namespace strata::drawing
