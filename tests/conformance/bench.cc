#include "tests/conformance/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/numbers/random.h"
#include "device/operations/float8.h"
#include "device/reference/reference_backend.h"

namespace strata::device {
namespace {

constexpr size_t kGuard = 64;  // bytes before and after every tensor that must not change
constexpr std::byte kGuardByte{0xA5};

// `encode` converts a value to its stored form.
template <typename Encode>
std::vector<std::byte> encoded(const std::vector<double>& values, const Encode& encode) {
  using Stored = decltype(encode(0.0));
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    const Stored stored = encode(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof stored);
  }
  return bytes;
}

std::vector<std::byte> to_bytes(const std::vector<double>& values, DType dtype, float scale = 1) {
  const auto single = [](double value) { return static_cast<float>(value); };
  switch (dtype) {
    case DType::kF64:
      return encoded(values, [](double value) { return value; });
    case DType::kF32:
      return encoded(values, single);
    case DType::kBF16:
      return encoded(values, [&](double value) { return BFloat16(single(value)); });
    case DType::kF16:
      return encoded(values, [&](double value) { return Float16(single(value)); });
    case DType::kE4M3:
      return encoded(values, [&](double value) { return to_float8<E4M3>(single(value) * scale); });
    case DType::kE5M2:
      return encoded(values, [&](double value) { return to_float8<E5M2>(single(value) * scale); });
  }
  return {};
}

template <typename Stored, typename Decode>
std::vector<double> decoded(const std::vector<std::byte>& bytes, const Decode& decode) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof stored);
    values[i] = decode(stored);
  }
  return values;
}

std::vector<double> from_bytes(const std::vector<std::byte>& bytes, DType dtype, float scale = 1) {
  switch (dtype) {
    case DType::kF64:
      return decoded<double>(bytes, [](double value) { return value; });
    case DType::kF32:
      return decoded<float>(bytes, [](float value) { return value; });
    case DType::kBF16:
      return decoded<BFloat16>(bytes, [](BFloat16 value) { return static_cast<float>(value); });
    case DType::kF16:
      return decoded<Float16>(bytes, [](Float16 value) { return static_cast<float>(value); });
    case DType::kE4M3:
      return decoded<uint8_t>(bytes, [&](uint8_t code) { return from_float8<E4M3>(code) / scale; });
    case DType::kE5M2:
      return decoded<uint8_t>(bytes, [&](uint8_t code) { return from_float8<E5M2>(code) / scale; });
  }
  return {};
}

// Returns for example "d_qkv [37, 192] bf16, element [12, 70]".
std::string name_of_element(const Output& output, size_t index) {
  const HostMatrix& matrix = output.matrix;
  const auto at = static_cast<int64_t>(index);
  return fmt::format("{} [{}, {}] {}, element [{}, {}]", output.name, matrix.rows, matrix.cols,
                     name_of(output.dtype), at / matrix.cols, at % matrix.cols);
}

// A difference that is not finite is worse than all others.
bool is_worse(double difference, double worst) {
  return std::isfinite(worst) && !(difference <= worst);
}

// Expects FP8 numbers to be the nearest to the expected ones, which may differ before rounding by
// `bound` times the largest.
void expect_nearest_float8(const Output& output, const std::vector<double>& expected,
                           double bound) {
  const bool e4m3 = output.dtype == DType::kE4M3;
  const double limit = e4m3 ? E4M3::kLargest : E5M2::kLargest;
  const int mantissa = e4m3 ? E4M3::kMantissaBits : E5M2::kMantissaBits;
  const int lowest = 1 - (e4m3 ? E4M3::kBias : E5M2::kBias);
  double largest = 0;
  for (const double value : expected) {
    ASSERT_TRUE(std::isfinite(value)) << "what is expected";
    largest = std::max(largest, std::abs(value));
  }
  const double slack = bound * largest * output.scale;
  size_t worst = 0, wrong = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double scaled = std::clamp(expected[i] * output.scale, -limit, limit);
    const int exponent = std::max(std::ilogb(std::abs(scaled) + slack), lowest);
    const double half_step = std::ldexp(0.5, exponent - mantissa);
    const double got = output.matrix.values[i] * output.scale;
    const double excess = std::abs(got - scaled) - (half_step + slack);
    if (excess <= 0) continue;
    ++wrong;
    if (is_worse(excess, worst_excess)) {
      worst = i;
      worst_excess = excess;
    }
  }
  EXPECT_EQ(wrong, 0) << name_of_element(output, worst) << ": expected the number nearest to "
                      << expected[worst] * output.scale << ", actual "
                      << output.matrix.values[worst] * output.scale
                      << " (both times the tensor's scale)";
}

// Expects two runs' bytes to be equal.
void expect_same_bits(const Output& first, const Output& again) {
  if (first.bytes == again.bytes) return;
  const std::vector<double>&a = first.matrix.values, &b = again.matrix.values;
  size_t i = 0;
  while (i + 1 < a.size() && std::memcmp(&a[i], &b[i], sizeof a[i]) == 0) ++i;
  ADD_FAILURE() << fmt::format(
      "{}: {} in the first run, {} in the second: two runs must have the "
      "same bits",
      name_of_element(first, i), a[i], b[i]);
}

bool is_count(const Output& output) {
  return output.name == "totals.correct" || output.name == "totals.count";
}

}  // namespace

HostMatrix rounded(HostMatrix matrix, DType dtype, float scale) {
  matrix.values = from_bytes(to_bytes(matrix.values, dtype, scale), dtype, scale);
  return matrix;
}

double Inputs::uniform() { return unit_interval(splitmix64(++state_)); }

HostMatrix Inputs::of(DType dtype, int64_t rows, int64_t cols, double spread, double center) {
  HostMatrix matrix{rows, cols, std::vector<double>(rows * cols)};
  for (double& value : matrix.values) value = center + spread * (2 * uniform() - 1);
  return rounded(std::move(matrix), dtype);
}

HostMatrix Inputs::compute(int64_t rows, int64_t cols, double spread, double center) {
  return of(compute_, rows, cols, spread, center);
}

HostMatrix Inputs::master(int64_t rows, int64_t cols, double spread, double center) {
  return of(master_, rows, cols, spread, center);
}

std::vector<int32_t> Inputs::indices(int64_t count, int64_t limit) {
  std::vector<int32_t> result(count);
  for (int32_t& index : result) index = static_cast<int32_t>(splitmix64(++state_) % limit);
  return result;
}

std::vector<int32_t> Inputs::distinct_indices(int64_t count, int64_t limit) {
  std::vector<int32_t> all(limit);
  for (int64_t i = 0; i < limit; ++i) all[i] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < count; ++i) {
    std::swap(all[i], all[i + static_cast<int64_t>(splitmix64(++state_) % (limit - i))]);
  }
  all.resize(count);
  return all;
}

Tensor Bench::place(const char* name, const HostMatrix& values, DType dtype, float scale) {
  dtype = stored(dtype);
  Placed placed;
  placed.name = name;
  placed.scale = scale;
  placed.initial.assign(kGuard, kGuardByte);
  const std::vector<std::byte> bytes = to_bytes(values.values, dtype, scale);
  placed.initial.insert(placed.initial.end(), bytes.begin(), bytes.end());
  placed.initial.insert(placed.initial.end(), kGuard, kGuardByte);
  placed.buffer = Buffer(backend_, placed.initial.size());
  backend_.copy_to_device(Stream::kCompute, placed.buffer.data(), placed.initial.data(),
                          placed.initial.size());
  backend_.synchronize(Stream::kCompute);
  placed.tensor = {placed.buffer.as<std::byte>() + kGuard, dtype, values.rows, values.cols};
  if (is_float8(dtype)) {
    const float scales[2] = {scale, 1 / scale};
    placed.tensor.scale = static_cast<const float*>(place_bytes(scales, sizeof scales));
  }
  placed_.push_back(std::move(placed));
  return placed_.back().tensor;
}

void* Bench::place_bytes(const void* bytes, size_t size) {
  arrays_.emplace_back(backend_, size);
  backend_.copy_to_device(Stream::kCompute, arrays_.back().data(), bytes, size);
  backend_.synchronize(Stream::kCompute);
  return arrays_.back().data();
}

ConstTensor Bench::input(const HostMatrix& values, DType dtype, float scale) {
  return place("", values, dtype, scale);
}

const int32_t* Bench::indices(const std::vector<int32_t>& values) {
  return static_cast<int32_t*>(place_bytes(values.data(), values.size() * sizeof(int32_t)));
}

Sequences Bench::sequences(const Packed& batch) {
  const auto* sample_ids = static_cast<uint64_t*>(
      place_bytes(batch.sample_ids.data(), batch.sample_ids.size() * sizeof(uint64_t)));
  int32_t min_length = batch.max_length;
  for (size_t i = 0; i + 1 < batch.cu_seqlens.size(); ++i) {
    min_length = std::min(min_length, batch.cu_seqlens[i + 1] - batch.cu_seqlens[i]);
  }
  return {.count = static_cast<int32_t>(batch.sample_ids.size()),
          .tokens = static_cast<int32_t>(batch.tokens()),
          .max_length = batch.max_length,
          .min_length = min_length,
          .cu_seqlens = indices(batch.cu_seqlens),
          .sample_ids = sample_ids};
}

double* Bench::scalar(double value) {
  return static_cast<double*>(place_bytes(&value, sizeof value));
}

Tensor Bench::output(const char* name, DType dtype, int64_t rows, int64_t cols, float scale) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return place(name, {rows, cols, std::vector<double>(rows * cols, nan)}, dtype, scale);
}

Tensor Bench::compute_output(const char* name, int64_t rows, int64_t cols) {
  return output(name, backend_.compute_dtype(), rows, cols);
}

Tensor Bench::master_output(const char* name, int64_t rows, int64_t cols) {
  return output(name, backend_.master_dtype(), rows, cols);
}

Tensor Bench::inout(const char* name, const HostMatrix& initial, DType dtype) {
  return place(name, initial, dtype);
}

Tensor Bench::compute_inout(const char* name, const HostMatrix& initial) {
  return place(name, initial, backend_.compute_dtype());
}

Tensor Bench::master_inout(const char* name, const HostMatrix& initial) {
  return place(name, initial, backend_.master_dtype());
}

double* Bench::scalar_inout(const char* name, double initial) {
  return place(name, {1, 1, {initial}}, DType::kF64).as<double>();
}

LossTotals* Bench::totals_inout(const LossTotals& initial) {
  totals_ = static_cast<LossTotals*>(place_bytes(&initial, sizeof initial));
  return totals_;
}

float* Bench::floats_inout(const char* name, const std::vector<float>& initial) {
  auto* data = static_cast<float*>(place_bytes(initial.data(), initial.size() * sizeof(float)));
  floats_.push_back({name, data, initial.size()});
  return data;
}

std::vector<Output> Bench::finish() {
  backend_.synchronize(Stream::kCompute);
  std::vector<Output> outputs;
  for (const Placed& placed : placed_) {
    std::vector<std::byte> after(placed.initial.size());
    backend_.copy_to_host(Stream::kCompute, after.data(), placed.buffer.data(), after.size());
    backend_.synchronize(Stream::kCompute);
    const auto unchanged = [&](size_t begin, size_t end) {
      return std::memcmp(after.data() + begin, placed.initial.data() + begin, end - begin) == 0;
    };
    const size_t end = after.size() - kGuard;
    if (placed.name.empty()) {
      EXPECT_TRUE(unchanged(0, after.size())) << "an input was written to";
      continue;
    }
    EXPECT_TRUE(unchanged(0, kGuard)) << placed.name << ": written to before its begin";
    EXPECT_TRUE(unchanged(end, after.size())) << placed.name << ": written to beyond its end";
    Output output;
    output.name = placed.name;
    output.dtype = placed.tensor.dtype;
    output.scale = placed.scale;
    output.matrix.rows = placed.tensor.rows;
    output.matrix.cols = placed.tensor.cols;
    output.bytes.assign(after.begin() + kGuard, after.begin() + end);
    output.matrix.values = from_bytes(output.bytes, output.dtype, output.scale);
    outputs.push_back(std::move(output));
  }
  for (const Floats& floats : floats_) {
    std::vector<float> values(floats.count);
    backend_.copy_to_host(Stream::kCompute, values.data(), floats.data,
                          values.size() * sizeof(float));
    backend_.synchronize(Stream::kCompute);
    Output output;
    output.name = floats.name;
    output.dtype = DType::kF32;
    output.matrix = {1, static_cast<int64_t>(floats.count), {values.begin(), values.end()}};
    output.bytes = to_bytes(output.matrix.values, output.dtype);
    outputs.push_back(std::move(output));
  }
  if (totals_) {
    LossTotals totals;
    backend_.copy_to_host(Stream::kCompute, &totals, totals_, sizeof totals);
    backend_.synchronize(Stream::kCompute);
    const auto add = [&](const char* name, double value) {
      Output output;
      output.name = name;
      output.matrix = {1, 1, {value}};
      output.bytes = to_bytes({value}, output.dtype);
      outputs.push_back(std::move(output));
    };
    add("totals.loss", totals.loss);
    add("totals.correct", static_cast<double>(totals.correct));
    add("totals.count", static_cast<double>(totals.count));
  }
  return outputs;
}

double bound_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kF32:
      return 1e-5;
    case DType::kF16:
      return 1.25e-3;  // bf16's, scaled to the smaller last place
    default:
      return 1e-2;
  }
}

std::vector<Output> run_on(Backend& backend, const OperationCall& operation) {
  Bench bench(backend, Bench::Role::kTested);
  operation(bench);
  return bench.finish();
}

namespace {

std::vector<Output> run_oracle(const OperationCall& operation) {
  const auto reference = make_reference_backend();
  Bench bench(*reference, Bench::Role::kOracle);
  operation(bench);
  return bench.finish();
}

}  // namespace

std::map<std::string, HostMatrix> run_on_reference(const OperationCall& operation) {
  std::map<std::string, HostMatrix> result;
  for (Output& output : run_oracle(operation)) result[output.name] = std::move(output.matrix);
  return result;
}

testing::AssertionResult is_near(const Output& output, const HostMatrix& expected, double share,
                                 double absolute) {
  const std::vector<double>& actual = output.matrix.values;
  if (actual.size() != expected.values.size()) {
    return testing::AssertionFailure() << output.name << ": " << actual.size() << " elements, "
                                       << expected.values.size() << " are expected";
  }
  size_t worst = 0, over = 0;
  double largest = 0, worst_difference = 0;
  for (const double value : expected.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double bound = share * largest + absolute;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(actual[i] - expected.values[i]);
    if (!(difference <= bound)) ++over;
    if (is_worse(difference, worst_difference)) {
      worst = i;
      worst_difference = difference;
    }
  }
  if (over == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << name_of_element(output, worst) << ": expected "
         << fmt::format(
                "{:.9g}, actual {:.9g}: the difference of {:.3g} exceeds {:.3g}, which is "
                "{:.3g} of the largest expected value {:.3g}",
                expected.values[worst], actual[worst], worst_difference, bound, bound / largest,
                largest)
         << "; " << over << " of " << actual.size() << " elements exceed it";
}

void expect_conforms(Backend& tested, const OperationCall& operation, JudgedBy judged_by) {
  const std::vector<Output> first = run_on(tested, operation), again = run_on(tested, operation);
  const std::vector<Output> expected = run_oracle(operation);
  ASSERT_EQ(first.size(), expected.size());
  for (size_t i = 0; i < first.size(); ++i) {
    const Output& output = first[i];
    expect_same_bits(output, again[i]);
    const DType dtype =
        judged_by == JudgedBy::kComputeDType ? tested.compute_dtype() : output.dtype;
    if (is_float8(output.dtype)) {
      expect_nearest_float8(output, expected[i].matrix.values, bound_of(dtype));
      continue;
    }
    EXPECT_TRUE(is_near(output, expected[i].matrix, is_count(output) ? 0 : bound_of(dtype)));
  }
}

}  // namespace strata::device
