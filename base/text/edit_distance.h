// Edit distance of two short texts.
#pragma once

#include <cstddef>
#include <string_view>

namespace strata {

// Returns the Levenshtein distance: the number of bytes to change, add or remove. Returns a number
// above `most` if the distance exceeds `most`, or a text is longer than 200 bytes.
size_t edit_distance(std::string_view a, std::string_view b, size_t most);

}  // namespace strata
