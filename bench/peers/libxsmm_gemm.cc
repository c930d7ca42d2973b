// Measures square GEMMs with libxsmm's batch-reduce kernels and prints JSON. Checks a few elements
// against doubles. Usage: libxsmm_gemm bf16|fp32 [SIZE]. OMP_NUM_THREADS sets the threads,
// LIBXSMM_TARGET the instruction set (hsw, skx, cpx). Packing is not timed: operands lie in blocks,
// in bf16 in pairs, as the kernels need them. The fastest block size counts.
#include <libxsmm.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr float kOne = 1.0f, kZero = 0.0f;
constexpr int kRounds = 9;           // the median counts
constexpr double kLongEnough = 0.2;  // seconds per round

// Truncates, which is exact for the random integers below.
libxsmm_bfloat16 to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<libxsmm_bfloat16>(bits >> 16);
}

struct Bf16 {
  using Element = libxsmm_bfloat16;
  static constexpr int kPair = 2;  // consecutive k of one column are adjacent
  static constexpr int kFlags = LIBXSMM_GEMM_FLAG_VNNI_A;
  static Element of(float value) { return to_bf16(value); }
  static auto kernel(int block, int stride) {
    return libxsmm_bsmmdispatch_reducebatch_strd(block, block, block, stride, stride, nullptr,
                                                 nullptr, nullptr, &kOne, &kZero, &kFlags, nullptr);
  }
};

struct Fp32 {
  using Element = float;
  static constexpr int kPair = 1;
  static constexpr int kFlags = 0;
  static Element of(float value) { return value; }
  static auto kernel(int block, int stride) {
    return libxsmm_smmdispatch_reducebatch_strd(block, block, block, stride, stride, nullptr,
                                                nullptr, nullptr, &kOne, &kZero, &kFlags, nullptr);
  }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the FLOPs per second of C = A B, column-major [size, size], in blocks, or 0 if libxsmm
// has no kernel.
template <typename Type>
double measure(int size, int block) {
  using Element = typename Type::Element;
  constexpr int kPair = Type::kPair;
  const int blocks = size / block, area = block * block;
  const auto kernel = Type::kernel(block, area * static_cast<int>(sizeof(Element)));
  if (!kernel) return 0;
  const auto elements = static_cast<size_t>(size) * size;
  std::vector<Element> a(elements), b(elements);
  std::vector<float> c(elements, NAN), plain_a(elements), plain_b(elements);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(-8, 8);
  for (int k = 0; k < size; ++k) {
    for (int i = 0; i < size; ++i) {
      plain_a[static_cast<size_t>(k) * size + i] = static_cast<float>(small(random));  // A(i, k)
      plain_b[static_cast<size_t>(i) * size + k] = static_cast<float>(small(random));  // B(k, i)
      const auto in_a = static_cast<size_t>((i / block) * blocks + k / block) * area +
                        (k % block) / kPair * block * kPair + (i % block) * kPair + k % kPair;
      const auto in_b = static_cast<size_t>((i / block) * blocks + k / block) * area +
                        (i % block) * block + k % block;
      a[in_a] = Type::of(plain_a[static_cast<size_t>(k) * size + i]);
      b[in_b] = Type::of(plain_b[static_cast<size_t>(i) * size + k]);
    }
  }
  const auto gemm = [&] {
    const auto count = static_cast<unsigned long long>(blocks);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < blocks; ++n) {
      for (int m = 0; m < blocks; ++m) {
        kernel(a.data() + static_cast<size_t>(m) * blocks * area,
               b.data() + static_cast<size_t>(n) * blocks * area,
               c.data() + static_cast<size_t>(n * blocks + m) * area, &count);
      }
    }
  };
  gemm();
  for (int checked = 0; checked < 64; ++checked) {
    const int i = static_cast<int>(random() % size), j = static_cast<int>(random() % size);
    double expected = 0;
    for (int k = 0; k < size; ++k) {
      expected += static_cast<double>(plain_a[static_cast<size_t>(k) * size + i]) *
                  plain_b[static_cast<size_t>(j) * size + k];
    }
    const float found = c[static_cast<size_t>((j / block) * blocks + i / block) * area +
                          (j % block) * block + i % block];
    if (found == static_cast<float>(expected)) continue;
    std::fprintf(stderr, "block %d: element (%d, %d) is %g, not %g\n", block, i, j, found,
                 expected);
    std::exit(1);
  }
  const double flops = 2.0 * size * size * size;
  double begin = now();
  gemm();
  const int repeats = std::max(1, static_cast<int>(kLongEnough / (now() - begin)));
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    begin = now();
    for (int i = 0; i < repeats; ++i) gemm();
    rates.push_back(flops * repeats / (now() - begin));
  }
  std::nth_element(rates.begin(), rates.begin() + kRounds / 2, rates.end());
  return rates[kRounds / 2];
}

}  // namespace

int main(int count, char** arguments) {
  const char* precision = count > 1 ? arguments[1] : "";
  const int size = count > 2 ? std::atoi(arguments[2]) : 2048;
  const bool bf16 = std::strcmp(precision, "bf16") == 0;
  if ((!bf16 && std::strcmp(precision, "fp32") != 0) || count > 3 || size < 256 || size % 64 != 0) {
    std::fprintf(stderr,
                 "usage: libxsmm_gemm bf16|fp32 [SIZE]   SIZE: a multiple of 64, at least 256\n");
    return 2;
  }
  libxsmm_init();
  double best = 0;
  int best_block = 0;
  for (const int block : {32, 64}) {
    const double rate = bf16 ? measure<Bf16>(size, block) : measure<Fp32>(size, block);
    if (rate > best) best = rate, best_block = block;
  }
  if (best == 0) {
    std::fprintf(stderr, "libxsmm makes no %s kernel for %s\n", precision,
                 libxsmm_get_target_arch());
    return 1;
  }
  std::printf(
      "{\"matrix_peak_flops_per_second\": %.0f, \"precision\": \"%s\", \"size\": %d, \"block\": "
      "%d, \"threads\": %d, "
      "\"target\": \"%s\", \"libxsmm\": \"%d.%d\"}\n",
      best, precision, size, best_block, omp_get_max_threads(), libxsmm_get_target_arch(),
      LIBXSMM_VERSION_MAJOR, LIBXSMM_VERSION_MINOR);
}
