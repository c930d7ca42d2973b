// A device whose GEMMs add up in few bits, as short accumulators would.
#pragma once

#include <cstdint>
#include <memory>

#include "device/backend.h"

namespace strata::bench {

// How linear layers add up the products of a dot product.
struct Accumulator {
  // Stored ones, 1 to 22, beside 8 exponent bits: 7 is bf16. Every addition rounds to them, the
  // nearest, of two equally near the even one. 0: sums are in double.
  int mantissa_bits = 0;
  // Products are added up in chunks of so many, then the sums of as many chunks, and so on; 0: in
  // one row. At least 2.
  int64_t chunk = 0;
};

// A SampleBackend for forward: linear_forward rounds x and weight to bf16, so that products are
// exact in f32, adds them up so, and adds the bias in f32. All else is in f32 and double. About one
// addition in 2^15 rounds twice, to f32 first, which may decide a tie the other way.
std::unique_ptr<device::Backend> make_rounding_device(const Accumulator& accumulator,
                                                      unsigned threads);

}  // namespace strata::bench
