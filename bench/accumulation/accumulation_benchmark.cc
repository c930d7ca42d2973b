#include "bench/accumulation/accumulation_benchmark.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "base/error.h"
#include "base/text/counts.h"
#include "comm/rank_order_sum.h"
#include "comm/traffic.h"
#include "device/reference/sums/rounded_sum.h"

namespace strata::bench {
namespace {

using device::BFloat16;

constexpr int kExponentBits = 8;
constexpr int kBF16Mantissa = 7;
constexpr int kFewestBits = 5, kMostBits = 10;
constexpr int kMostRanks = 1024;
const double kLogFifty = std::log(50.0);

// Sums of the same terms, exact and rounded.
struct Draws {
  std::vector<double> exact, rounded;

  double mean(auto&& of) const {
    double sum = 0;
    for (size_t i = 0; i < exact.size(); ++i) sum += of(exact[i], rounded[i]);
    return sum / static_cast<double>(exact.size());
  }
  double exact_square() const {
    return mean([](double sum, double) { return sum * sum; });
  }
  double relative_error() const {
    return std::sqrt(mean([](double sum, double near) { return (near - sum) * (near - sum); }) /
                     exact_square());
  }
  double variance_ratio() const {
    return mean([](double, double near) { return near * near; }) / exact_square();
  }
  // Standard error of variance_ratio(), from the spread of the draws' contributions.
  double ratio_uncertainty() const {
    const double ratio = variance_ratio();
    const double spread = mean([&](double sum, double near) {
      const double residual = near * near - ratio * sum * sum;
      return residual * residual;
    });
    return std::sqrt(spread / static_cast<double>(exact.size())) / exact_square();
  }
};

// Returns sums of the same terms for each of the `chunks`.
std::vector<Draws> draw(int mantissa_bits, int64_t count, std::span<const int64_t> chunks,
                        const AccumulationOptions& options) {
  const device::reference::FloatFormat format{kExponentBits, mantissa_bits};
  std::mt19937_64 engine(options.seed);
  std::normal_distribution<double> normal;
  std::vector<double> terms(count);
  std::vector<Draws> draws(chunks.size());
  for (int trial = 0; trial < options.trials; ++trial) {
    double exact = 0;
    for (double& term : terms) {
      term = device::reference::rounded(normal(engine), format);
      exact += term;
    }
    for (size_t i = 0; i < chunks.size(); ++i) {
      draws[i].exact.push_back(exact);
      draws[i].rounded.push_back(device::reference::rounded_sum(terms, {format, chunks[i]}));
    }
  }
  return draws;
}

int64_t about_root(int64_t n) {
  return std::max<int64_t>(std::llround(std::sqrt(static_cast<double>(n))), 2);
}

AllReduceError measure_all_reduce(int ranks, const AccumulationOptions& options) {
  const int count = options.trials;
  std::mt19937_64 engine(options.seed);
  std::normal_distribution<float> normal;
  std::vector<BFloat16> parts(static_cast<size_t>(ranks) * count);
  for (BFloat16& part : parts) part = normal(engine);
  std::vector<double> exact(count);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int i = 0; i < count; ++i) {
      exact[i] += float{parts[static_cast<size_t>(rank) * count + i]};
    }
  }
  const auto error = [&](const comm::Accumulation& accumulation) {
    std::vector<BFloat16> sum(count);
    comm::sum_in_rank_order(parts.data(), ranks, count, device::DType::kBF16, sum.data(),
                            accumulation);
    return Draws{exact, {sum.begin(), sum.end()}}.relative_error();
  };
  const auto two_levels = static_cast<int>(about_root(ranks));
  constexpr int kChunk = 4;
  constexpr int64_t kElements = 1 << 20;
  const int64_t bytes = comm::reduce_scatter_bytes(kElements, device::DType::kBF16, 0, ranks) +
                        comm::all_gather_bytes(kElements, device::DType::kBF16, 0, ranks);
  return {.ranks = ranks,
          .once = error({}),
          .row = error({.in_bf16 = true}),
          .two_levels = error({.in_bf16 = true, .chunk = two_levels}),
          .chunked = error({.in_bf16 = true, .chunk = kChunk}),
          .row_closed_form = sum_error(kBF16Mantissa, ranks, 0),
          .two_levels_closed_form = sum_error(kBF16Mantissa, ranks, two_levels),
          .chunked_closed_form = sum_error(kBF16Mantissa, ranks, kChunk),
          .bytes_per_element = static_cast<double>(bytes) / double{kElements}};
}

}  // namespace

bool VarianceRetention::retained() const {
  return static_cast<double>(terms) * (1 - ratio) < kLogFifty;
}

bool VarianceRetention::uncertain() const {
  const double distance = std::abs(static_cast<double>(terms) * (1 - ratio) - kLogFifty);
  return distance < 2 * static_cast<double>(terms) * uncertainty;
}

double sum_error(int mantissa_bits, int64_t terms, int64_t chunk) {
  const double row =
      0.74 * std::exp2(-(mantissa_bits + 1)) * std::sqrt(static_cast<double>(terms) / 6);
  if (chunk == 0 || chunk >= terms) return row;
  double chunks = 0;  // chunks of all levels
  for (auto left = static_cast<double>(terms); left > 1; left /= static_cast<double>(chunk)) {
    chunks += std::min(left, static_cast<double>(chunk));
  }
  return row * std::sqrt(chunks / static_cast<double>(terms));
}

AccumulationBenchmark benchmark_accumulation(const AccumulationOptions& options) {
  if (options.trials < 2)
    fail("{}: at least 2 are needed to measure an error", counted(options.trials, "trial"));
  constexpr int64_t kTerms = 4096, kChunks[] = {0, 4, 16, 64, 256};
  constexpr int64_t kLengths[] = {256, 1024, 4096, 16384};
  AccumulationBenchmark result;
  int done = 0;
  const int parts = (kMostBits - kFewestBits + 1) * static_cast<int>(1 + std::size(kLengths)) +
                    static_cast<int>(std::log2(kMostRanks));
  const auto tell = [&] {
    if (options.progress) options.progress(++done, parts);
  };
  for (int bits = kFewestBits; bits <= kMostBits; ++bits) {
    const auto draws = draw(bits, kTerms, kChunks, options);
    for (size_t i = 0; i < draws.size(); ++i) {
      result.sums.push_back({bits, kTerms, kChunks[i], draws[i].relative_error(),
                             sum_error(bits, kTerms, kChunks[i])});
    }
    tell();
  }
  for (int bits = kFewestBits; bits <= kMostBits; ++bits) {
    for (const int64_t terms : kLengths) {
      const int64_t chunks[] = {0, about_root(terms)};
      const auto draws = draw(bits, terms, chunks, options);
      for (size_t i = 0; i < draws.size(); ++i) {
        result.retention.push_back(
            {bits, terms, chunks[i], draws[i].variance_ratio(), draws[i].ratio_uncertainty()});
      }
      tell();
    }
  }
  for (int ranks = 2; ranks <= kMostRanks; ranks *= 2) {
    result.all_reduces.push_back(measure_all_reduce(ranks, options));
    tell();
  }
  return result;
}

}  // namespace strata::bench
