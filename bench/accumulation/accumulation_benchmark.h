// What sums in few bits lose, in a row and in chunks, beside closed forms (Sakr et al., arXiv
// 1901.06588).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace strata::bench {

struct AccumulationOptions {
  int trials = 2000;  // sums drawn for each line
  uint64_t seed = 1;
  std::function<void(int done, int of)> progress;  // lines; may be empty
};

// Sums of `terms` drawn from a normal distribution, in chunks of `chunk`, and the sums of as many
// chunks, and so on; 0: in one row.
struct SumError {
  int mantissa_bits = 0;  // stored ones, with 8 exponent bits
  int64_t terms = 0;
  int64_t chunk = 0;
  double error = 0;        // root mean square, over that of the sums
  double closed_form = 0;  // see below
};

// Whether sums still vary as they would in full precision: the variance of the rounded sums
// over that of the exact ones, of the same draws.
struct VarianceRetention {
  int mantissa_bits = 0;
  int64_t terms = 0;
  int64_t chunk = 0;
  double ratio = 0;
  double uncertainty = 0;  // standard error of the ratio
  // The criterion of the source, e^(terms (1 - ratio)) < 50.
  bool retained() const;
  // Whether another draw of as many sums might well say otherwise: within two standard errors.
  bool uncertain() const;
};

// An all-reduce of bf16 over ranks that are simulated, by the arithmetic that reduces gradients.
struct AllReduceError {
  int ranks = 0;
  double once = 0;        // summed in fp32, rounded once
  double row = 0;         // rounded at every hop
  double two_levels = 0;  // chunks of about sqrt(ranks)
  double chunked = 0;     // chunks of 4, the default of reduce.chunk
  double row_closed_form = 0, two_levels_closed_form = 0, chunked_closed_form = 0;
  double bytes_per_element = 0;  // that a rank sends, by any of them
};

struct AccumulationBenchmark {
  std::vector<SumError> sums;
  std::vector<VarianceRetention> retention;
  std::vector<AllReduceError> all_reduces;
};

// The closed form of SumError::error, n: `terms`, c: `chunk`. In a row (c = 0) about
// 0.74 u sqrt(n / 6), u = 2^-(mantissa_bits + 1), within 10 % for n >= 1024 where terms do not
// round away. In chunks times sqrt(sum over levels i = 0, 1, ... of min(c, n / c^i) / n), as long
// as n / c^i exceeds 1: with two levels sqrt((c + n / c) / n). Only where n is a power of c is that
// sqrt(c log_c(n) / n).
double sum_error(int mantissa_bits, int64_t terms, int64_t chunk);

// Throws Error for less than 2 trials.
AccumulationBenchmark benchmark_accumulation(const AccumulationOptions& options);

}  // namespace strata::bench
