// The random numbers that weights start from.
#pragma once

#include <cstdint>
#include <span>

namespace strata::bert {

// Fills `values` with elements `first` and on of the sequence that `seed` names: normal with
// standard deviation 0.02, drawn again beyond two deviations (the BERT reference). Each element is
// drawn by Box and Muller's method from counters of its own, so any split of a sequence over calls
// and threads has the same bits. Computes on the calling thread.
void draw_normals(uint64_t seed, uint64_t first, std::span<float> values);

}  // namespace strata::bert
