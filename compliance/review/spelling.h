// Normalises names, so that spelling and encoding do not make them differ.
#pragma once

#include <string>
#include <string_view>

namespace strata::compliance {

// The text in UTF-8 with Latin letters that carry accents as their base letters: "Zurich" for
// "Zürich", composed or decomposed, in UTF-8, in Latin-1, or as UTF-8 that was taken for Latin-1
// and encoded again ("ZÃ¼rich"). Other letters stay.
std::string without_accents(std::string_view text);

}  // namespace strata::compliance
