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
constexpr double kLongEnough = 1e-2;
constexpr int64_t kFewestCopied = int64_t{1} << 20, kMostCopied = int64_t{1} << 26;
constexpr double kLongestCopy = 3e-3;  // seconds; slower devices are emulated
constexpr int kCopies = 8;

}  // namespace

void fill_normal(device::Backend& backend, const Tensor& tensor, float mean, float stddev,
                 uint64_t seed) {
  // The random numbers repeat. Their period has no small divisors, so that no two rows are alike.
  constexpr int64_t kPeriod = 1'000'003;
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(mean, stddev);
  std::vector<float> values(static_cast<size_t>(std::min(tensor.size(), kPeriod)));
  for (float& value : values) value = normal(random);
  device::Buffer master(backend, values.size() * size_of(backend.master_dtype()));
  if (backend.master_dtype() == DType::kF64) {
    const std::vector<double> wide(values.begin(), values.end());
    backend.copy_to_device(Stream::kCompute, master.data(), wide.data(), master.bytes());
    backend.synchronize(Stream::kCompute);
  } else {
    backend.copy_to_device(Stream::kCompute, master.data(), values.data(), master.bytes());
    backend.synchronize(Stream::kCompute);
  }
  for (int64_t begin = 0; begin < tensor.size(); begin += kPeriod) {
    const int64_t count = std::min(kPeriod, tensor.size() - begin);
    char* at = tensor.as<char>() + begin * static_cast<int64_t>(size_of(tensor.dtype));
    backend.convert(Stream::kCompute, {.source = {master.data(), backend.master_dtype(), 1, count},
                                       .destination = {at, tensor.dtype, 1, count}});
  }
  backend.synchronize(Stream::kCompute);
}

MatrixPeak::MatrixPeak(device::Backend& backend) : backend_(backend) {
  for (int64_t size = kSmallestProduct; size <= kLargestProduct; size *= 2) {
    make_operands(size);
    seconds();
    if (std::min(seconds(), seconds()) >= kLongEnough) break;
  }
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

double MatrixPeak::seconds() const {
  const auto tensor = [&](const device::Buffer& buffer) {
    return Tensor{buffer.data(), backend_.compute_dtype(), size_, size_};
  };
  const auto begin = Clock::now();
  backend_.linear_data_gradient(Stream::kCompute,
                                {.dy = tensor(y_), .weight = tensor(weight_), .dx = tensor(x_)});
  backend_.synchronize(Stream::kCompute);
  return seconds_since(begin);
}

double MatrixPeak::flops_per_second() const {
  const auto size = static_cast<double>(size_);
  return 2.0 * size * size * size / seconds();
}

CopyPeak::CopyPeak(device::Backend& backend) : backend_(backend) {
  for (elements_ = kFewestCopied;; elements_ = kMostCopied) {
    for (device::Buffer* buffer : {&from_, &to_}) {
      *buffer = device::Buffer();
      *buffer = device::Buffer(backend, elements_ * size_of(backend.master_dtype()));
    }
    seconds(1);
    if (elements_ == kMostCopied || std::min(seconds(1), seconds(1)) > kLongestCopy) break;
  }
  bytes_per_second();
}

double CopyPeak::seconds(int copies) const {
  const DType dtype = backend_.master_dtype();
  const auto begin = Clock::now();
  for (int i = 0; i < copies; ++i) {
    backend_.convert(Stream::kCompute, {.source = {from_.data(), dtype, 1, elements_},
                                        .destination = {to_.data(), dtype, 1, elements_}});
  }
  backend_.synchronize(Stream::kCompute);
  return seconds_since(begin);
}

double CopyPeak::bytes_per_second() const {
  return kCopies * 2.0 * static_cast<double>(from_.bytes()) / seconds(kCopies);
}

}  // namespace strata::bench
