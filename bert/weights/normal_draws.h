// Random numbers for initial weights.
#pragma once

#include <cstdint>
#include <span>

namespace strata::bert {

// Fills `values` with a random sequence, from its element `first` on. `seed` identifies the
// sequence. Elements are normal with standard deviation 0.02, redrawn beyond two deviations (the
// BERT reference). The Box-Muller method makes each from hashes of `seed` and the element's index,
// so any split over calls and threads gives the same bits. Computes on the calling thread.
void draw_normals(uint64_t seed, uint64_t first, std::span<float> values);

}  // namespace strata::bert
