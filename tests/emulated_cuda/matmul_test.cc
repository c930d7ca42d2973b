// What one backend remembers of products must serve the next ones, too.
#include "device/cuda/gemm/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/buffer.h"
#include "device/cuda/cuda_backend.h"

namespace strata::device::cuda {
namespace {

// Small integers, whose products and sums are exact.
BFloat16 number(int64_t i, int64_t j) {
  return BFloat16(static_cast<float>((i * 7 + j * 3) % 5 - 2));
}

struct Product {
  int64_t rows, out, in;
  int64_t shift;  // of x, from where memory is aligned
};

void expect_exact(Backend& backend, const Product& p) {
  Buffer x(backend, static_cast<size_t>(p.rows * p.in + p.shift) * sizeof(BFloat16)),
      weight(backend, static_cast<size_t>(p.out * p.in) * sizeof(BFloat16)),
      bias(backend, static_cast<size_t>(p.out) * sizeof(BFloat16)),
      y(backend, static_cast<size_t>(p.rows * p.out) * sizeof(BFloat16));
  auto* of_x = x.as<BFloat16>() + p.shift;
  for (int64_t i = 0; i < p.rows * p.in; ++i) of_x[i] = number(i / p.in, i % p.in);
  for (int64_t i = 0; i < p.out * p.in; ++i) weight.as<BFloat16>()[i] = number(i % p.in, i / p.in);
  for (int64_t i = 0; i < p.out; ++i) bias.as<BFloat16>()[i] = number(i, 1);
  LinearForward op;
  op.x = ConstTensor(of_x, DType::kBF16, p.rows, p.in);
  op.weight = ConstTensor(weight.data(), DType::kBF16, p.out, p.in);
  op.bias = ConstTensor(bias.data(), DType::kBF16, 1, p.out);
  op.y = {y.data(), DType::kBF16, p.rows, p.out};
  backend.linear_forward(Stream::kCompute, op);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.out; ++column) {
      auto sum = static_cast<float>(number(column, 1));
      for (int64_t i = 0; i < p.in; ++i) {
        sum += static_cast<float>(number(row, i)) * static_cast<float>(number(i, column));
      }
      ASSERT_EQ(static_cast<float>(y.as<BFloat16>()[row * p.out + column]),
                static_cast<float>(BFloat16(sum)))
          << p.rows << " x " << p.out << " x " << p.in << ", shift " << p.shift;
    }
  }
}

TEST(Matmul, WhatIsFastestForSomeRowsServesTheirNeighbours) {
  for (const int64_t in : {32, 40, 64}) {
    const auto backend = make_cuda_backend(DType::kBF16, 0);
    for (const int64_t out : {8, 16, 24, 40, 48, 72}) {
      for (int64_t rows = 24; rows > 0; --rows) expect_exact(*backend, {rows, out, in, 0});
    }
  }
}

TEST(Matmul, AlignedProductsMayBecomeMisaligned) {
  const auto backend = make_cuda_backend(DType::kBF16, 0);
  for (const int64_t shift : {0, 1, 8, 2, 4, 0}) expect_exact(*backend, {6, 16, 64, shift});
}

TEST(Matmul, TermsBeyondAMultipleOf64Count) {
  const auto backend = make_cuda_backend(DType::kBF16, 0);
  for (int64_t in = 60; in <= 140; ++in) expect_exact(*backend, {3, 8, in, 0});
}

}  // namespace
}  // namespace strata::device::cuda
