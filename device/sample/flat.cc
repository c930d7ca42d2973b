// Flat ranges: conversion, norms and clipping. They take f32, bf16 and f16, because gradients may
// be reduced in 16 bits with any compute dtype.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "device/plain/element.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {

namespace {

void check(const ConstTensor& x) {
  if (x.dtype == DType::kF32 || x.dtype == DType::kBF16 || x.dtype == DType::kF16) return;
  fail("sample: a range of {} is not supported; use f32, bf16 or f16", name_of(x.dtype));
}

}  // namespace

void SampleBackend::convert(Stream, const Convert& op) {
  check(op.source);
  check(op.destination);
  for (int64_t i = 0; i < op.source.size(); ++i) {
    plain::store(op.destination, i, op.scale * plain::load(op.source, i));
  }
}

void SampleBackend::l2_norm_squared(Stream, const L2NormSquared& op) {
  check(op.x);
  double sum = 0;
  for (int64_t i = 0; i < op.x.size(); ++i) {
    const double x = plain::load(op.x, i);
    sum += x * x;
  }
  *op.norm_squared += sum;
}

void SampleBackend::clip_to_norm(Stream, const ClipToNorm& op) {
  check(op.x);
  const double factor = std::min(1.0, op.max_norm / std::sqrt(*op.norm_squared));
  const Tensor& destination = op.destination ? op.destination : op.x;
  check(destination);
  for (int64_t i = 0; i < op.x.size(); ++i)
    plain::store(destination, i, factor * plain::load(op.x, i));
}

}  // namespace strata::device::sample
