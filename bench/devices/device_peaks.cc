#include "bench/devices/device_peaks.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/timing.h"

namespace strata::bench {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

constexpr int64_t kSmallestProduct = 64, kLargestProduct = 16384;
constexpr double kLongEnough = 1e-2;  // seconds
constexpr int kRunsToJudge = 5;
constexpr int64_t kFewestCopied = int64_t{1} << 20, kMostCopied = int64_t{1} << 26;
constexpr double kSlowestMemory = 6e9;  // bytes a second; slower devices are emulated
constexpr int kCopies = 8;

}  // namespace

NormalNumbers::NormalNumbers(device::Backend& backend, int64_t largest, float mean, float stddev,
                             uint64_t seed)
    : backend_(backend),
      // The random numbers repeat. Their period has no small divisors, so that no two rows are
      // alike.
      count_(std::clamp<int64_t>(largest, 1, 1'000'003)),
      numbers_(backend, static_cast<size_t>(count_) * size_of(backend.master_dtype())) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(mean, stddev);
  std::vector<float> values(static_cast<size_t>(count_));
  for (float& value : values) value = normal(random);
  if (backend.master_dtype() == DType::kF64) {
    const std::vector<double> wide(values.begin(), values.end());
    backend.copy_to_device(Stream::kCompute, numbers_.data(), wide.data(), numbers_.bytes());
    backend.synchronize(Stream::kCompute);
  } else {
    backend.copy_to_device(Stream::kCompute, numbers_.data(), values.data(), numbers_.bytes());
    backend.synchronize(Stream::kCompute);
  }
}

void NormalNumbers::fill(const Tensor& tensor, int64_t seed) const {
  constexpr int64_t kAligned = 64;  // elements
  int64_t first = kAligned * (seed * 997 % std::max<int64_t>(1, count_ / kAligned));
  const DType dtype = backend_.master_dtype();
  for (int64_t begin = 0; begin < tensor.size();) {
    const int64_t count = std::min(count_ - first, tensor.size() - begin);
    char* from = numbers_.as<char>() + first * static_cast<int64_t>(size_of(dtype));
    char* to = tensor.as<char>() + begin * static_cast<int64_t>(size_of(tensor.dtype));
    backend_.convert(Stream::kCompute, {.source = {from, dtype, 1, count},
                                        .destination = {to, tensor.dtype, 1, count}});
    begin += count;
    first = 0;
  }
  backend_.synchronize(Stream::kCompute);
}

void fill_normal(device::Backend& backend, const Tensor& tensor, float mean, float stddev,
                 uint64_t seed) {
  NormalNumbers(backend, tensor.size(), mean, stddev, seed).fill(tensor);
}

MatrixPeak::MatrixPeak(device::Backend& backend) : backend_(backend) {
  for (int64_t size = kSmallestProduct; size <= kLargestProduct; size *= 2) {
    make_operands(size);
    flops_per_second();
    if (is_long_enough()) break;
  }
}

// Other processes make some runs of a short product long, but hardly all of them.
bool MatrixPeak::is_long_enough() const {
  const auto size = static_cast<double>(size_);
  for (int run = 0; run < kRunsToJudge; ++run) {
    if (2.0 * size * size * size / flops_per_second() < kLongEnough) return false;
  }
  return true;
}

void MatrixPeak::make_operands(int64_t size) {
  size_ = size;
  const size_t bytes = static_cast<size_t>(size * size) * size_of(backend_.compute_dtype());
  for (device::Buffer* buffer : {&x_, &weight_, &y_}) {
    *buffer = device::Buffer();
    *buffer = device::Buffer(backend_, bytes);
  }
  fill_normal(backend_, {y_.data(), backend_.compute_dtype(), size, size}, 0.0f, 1.0f, 1);
  fill_normal(backend_, {weight_.data(), backend_.compute_dtype(), size, size}, 0.0f, 1.0f, 2);
}

Tensor MatrixPeak::tensor(const device::Buffer& buffer) const {
  return {buffer.data(), backend_.compute_dtype(), size_, size_};
}

double MatrixPeak::flops_per_second() const {
  return flops_per_second(backend_, tensor(y_), tensor(weight_), tensor(x_));
}

double MatrixPeak::flops_per_second(device::Backend& backend, const Tensor& dy,
                                    const Tensor& weight, const Tensor& dx) {
  const auto begin = Clock::now();
  backend.linear_data_gradient(Stream::kCompute, {.dy = dy, .weight = weight, .dx = dx});
  backend.synchronize(Stream::kCompute);
  const auto size = static_cast<double>(dy.rows);
  return 2.0 * size * size * size / seconds_since(begin);
}

int64_t CopyPeak::elements_for(device::Backend& backend) {
  const CopyPeak few(backend, kFewestCopied);
  return std::max(few.bytes_per_second(), few.bytes_per_second()) < kSlowestMemory ? kFewestCopied
                                                                                   : kMostCopied;
}

CopyPeak::CopyPeak(device::Backend& backend) : CopyPeak(backend, elements_for(backend)) {}

CopyPeak::CopyPeak(device::Backend& backend, int64_t elements)
    : backend_(backend),
      elements_(elements),
      from_(backend, static_cast<size_t>(elements) * size_of(backend.master_dtype())),
      to_(backend, from_.bytes()) {
  bytes_per_second();
}

Tensor CopyPeak::tensor(const device::Buffer& buffer) const {
  return {buffer.data(), backend_.master_dtype(), 1, elements_};
}

double CopyPeak::bytes_per_second() const {
  return bytes_per_second(backend_, tensor(from_), tensor(to_));
}

double CopyPeak::bytes_per_second(device::Backend& backend, const Tensor& from, const Tensor& to) {
  const auto begin = Clock::now();
  for (int i = 0; i < kCopies; ++i) {
    backend.convert(Stream::kCompute, {.source = from, .destination = to});
  }
  backend.synchronize(Stream::kCompute);
  return kCopies * 2.0 * static_cast<double>(from.bytes()) / seconds_since(begin);
}

}  // namespace strata::bench
