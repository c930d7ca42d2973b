// A device whose GEMMs add up in few bits, like short accumulators.
#pragma once

#include <cstdint>
#include <memory>

#include "device/backend.h"

namespace strata::bench {

// How a linear layer adds up the products of a dot product.
struct Accumulator {
  // Stored mantissa bits, 1 to 22, beside 8 exponent bits; bf16 has 7. Every addition rounds to the
  // nearest number with so many, ties to even. 0: sums are in double.
  int mantissa_bits = 0;
  // Adds up products in chunks of so many (at least 2), then the sums in chunks of as many, and so
  // on; 0: in one row.
  int64_t chunk = 0;
};

// Returns a SampleBackend for forward. linear_forward rounds x and weight to bf16, so that products
// are exact in f32, adds them up with `accumulator`, and adds the bias in f32. All other operations
// use f32 and double. About one addition in 2^15 rounds twice, to f32 first, which may decide a tie
// the other way.
std::unique_ptr<device::Backend> make_rounding_device(const Accumulator& accumulator,
                                                      unsigned threads);

}  // namespace strata::bench
