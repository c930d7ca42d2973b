// The error of sums in few bits, in a row and in chunks, beside closed forms (Sakr et al., arXiv
// 1901.06588).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace strata::bench {

struct AccumulationOptions {
  int trials = 2000;  // sums drawn for each line
  uint64_t seed = 1;
  std::function<void(int done, int of)> progress;  // called per line; may be empty
};

// The error of sums of `terms` draws from a normal distribution. They are added up in chunks of
// `chunk`, then the sums in chunks of as many, and so on; 0: in one row.
struct SumError {
  int mantissa_bits = 0;  // stored bits, beside 8 exponent bits
  int64_t terms = 0;
  int64_t chunk = 0;
  double error = 0;        // root mean square, over that of the sums
  double closed_form = 0;  // sum_error()
};

// The variance of rounded sums over that of exact sums of the same draws: 1 as in full precision.
struct VarianceRetention {
  int mantissa_bits = 0;
  int64_t terms = 0;
  int64_t chunk = 0;
  double ratio = 0;
  double uncertainty = 0;  // standard error of the ratio
  // Returns whether the source's criterion holds: e^(terms (1 - ratio)) < 50.
  bool retained() const;
  // Returns whether retained() could change within two standard errors.
  bool uncertain() const;
};

// Errors of a bf16 all-reduce over simulated ranks, with the arithmetic that reduces gradients.
struct AllReduceError {
  int ranks = 0;
  double once = 0;        // summed in fp32, rounded once
  double row = 0;         // rounded at every hop
  double two_levels = 0;  // chunks of about sqrt(ranks)
  double chunked = 0;     // chunks of 4, the default of reduce.chunk
  double row_closed_form = 0, two_levels_closed_form = 0, chunked_closed_form = 0;
  double bytes_per_element = 0;  // bytes that a rank sends, the same for all of them
};

struct AccumulationBenchmark {
  std::vector<SumError> sums;
  std::vector<VarianceRetention> retention;
  std::vector<AllReduceError> all_reduces;
};

// Returns the closed form of SumError::error; n stands for `terms` and c for `chunk`. In a row (c =
// 0) it is about 0.74 u sqrt(n / 6), u = 2^-(mantissa_bits + 1), within 10 % for n >= 1024 while
// terms do not round away. In chunks it is that times sqrt(sum over levels i = 0, 1, ... of min(c,
// n / c^i) / n), as long as n / c^i exceeds 1: with two levels sqrt((c + n / c) / n). If n is a
// power of c, it is sqrt(c log_c(n) / n).
double sum_error(int mantissa_bits, int64_t terms, int64_t chunk);

// Throws Error for fewer than 2 trials.
AccumulationBenchmark benchmark_accumulation(const AccumulationOptions& options);

}  // namespace strata::bench
