// How far two short texts are apart.
#pragma once

#include <cstddef>
#include <string_view>

namespace strata {

// The bytes that have to be changed, added or left out to make one text of the other (Levenshtein).
// If these are more than `most`, or a text is longer than 200 bytes, returns a number above `most`.
size_t edit_distance(std::string_view a, std::string_view b, size_t most);

}  // namespace strata
