// Runs one operation on a backend and on `reference` with the same inputs and compares the outputs.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"
#include "tests/conformance/packed.h"

namespace strata::device {

// A matrix on the host; its values are exact in the dtype that they were drawn for.
struct HostMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;
};

// `scale` is for FP8 tensors, as in Tensor.
HostMatrix rounded(HostMatrix matrix, DType dtype, float scale = 1);

// Draws uniform inputs for a backend, the same on every machine.
class Inputs {
 public:
  Inputs(const Backend& backend, uint64_t seed)
      : compute_(backend.compute_dtype()), master_(backend.master_dtype()), state_(seed << 32) {}

  // Return values in (center - spread, center + spread), rounded to the backend's compute or master
  // dtype.
  HostMatrix compute(int64_t rows, int64_t cols, double spread = 1, double center = 0);
  HostMatrix master(int64_t rows, int64_t cols, double spread = 1, double center = 0);
  HostMatrix of(DType dtype, int64_t rows, int64_t cols, double spread = 1, double center = 0);
  std::vector<int32_t> indices(int64_t count, int64_t limit);           // in [0, limit)
  std::vector<int32_t> distinct_indices(int64_t count, int64_t limit);  // in random order

 private:
  double uniform();

  DType compute_, master_;
  uint64_t state_;
};

struct Output {
  std::string name;
  DType dtype = DType::kF64;
  float scale = 1;  // only for FP8 tensors
  HostMatrix matrix;
  std::vector<std::byte> bytes;
};

// Device memory for one call of an operation, filled with host values. The oracle's memory is f64,
// whatever dtype is requested.
class Bench {
 public:
  enum class Role { kTested, kOracle };
  Bench(Backend& backend, Role role) : backend_(backend), role_(role) {}

  Backend& backend() { return backend_; }

  ConstTensor compute(const HostMatrix& values) { return input(values, backend_.compute_dtype()); }
  ConstTensor master(const HostMatrix& values) { return input(values, backend_.master_dtype()); }
  ConstTensor input(const HostMatrix& values, DType dtype, float scale = 1);
  const int32_t* indices(const std::vector<int32_t>& values);
  Sequences sequences(const Packed& batch);
  double* scalar(double value);  // not an output
  // Places a value in device memory, for an operation to read when it runs.
  template <typename Number>
  StepValue<Number> in_memory(Number value) {
    return value_at(static_cast<const Number*>(place_bytes(&value, sizeof value)));
  }
  Dropout in_memory(Dropout dropout) {
    dropout.step_key = in_memory(dropout.step_key.now());
    return dropout;
  }

  // Outputs of the operation: whole ones, which start as NaN, or initial values that it adds to.
  Tensor compute_output(const char* name, int64_t rows, int64_t cols);
  Tensor master_output(const char* name, int64_t rows, int64_t cols);
  Tensor output(const char* name, DType dtype, int64_t rows, int64_t cols, float scale = 1);
  Tensor compute_inout(const char* name, const HostMatrix& initial);
  Tensor master_inout(const char* name, const HostMatrix& initial);
  Tensor inout(const char* name, const HostMatrix& initial, DType dtype);
  // A parameter's gradient, which is added to `initial`, or starts as NaN and is overwritten.
  Tensor gradient(const char* name, const HostMatrix& initial, bool accumulate) {
    return accumulate ? master_inout(name, initial)
                      : master_output(name, initial.rows, initial.cols);
  }
  double* scalar_inout(const char* name, double initial);
  LossTotals* totals_inout(const LossTotals& initial);
  // An output that the operation must not store.
  Tensor only_a_shape(int64_t rows, int64_t cols) {
    return {nullptr, stored(backend_.compute_dtype()), rows, cols};
  }
  // Single floats, also for the oracle.
  float* floats_inout(const char* name, const std::vector<float>& initial);

  // Downloads all outputs. Fails the test if memory around an output or an input has changed.
  std::vector<Output> finish();

 private:
  struct Placed {
    std::string name;  // empty for an input
    Tensor tensor;
    float scale = 1;
    Buffer buffer;
    std::vector<std::byte> initial;  // including the guards around it
  };
  DType stored(DType dtype) const { return role_ == Role::kOracle ? DType::kF64 : dtype; }
  Tensor place(const char* name, const HostMatrix& values, DType dtype, float scale = 1);
  void* place_bytes(const void* bytes, size_t size);

  Backend& backend_;
  Role role_;
  std::vector<Placed> placed_;
  std::vector<Buffer> arrays_;
  struct Floats {
    std::string name;
    float* data;
    size_t count;
  };
  std::vector<Floats> floats_;
  LossTotals* totals_ = nullptr;
};

using OperationCall = std::function<void(Bench&)>;

// Maximum max|a - b| / max|b| of an output tensor.
double bound_of(DType dtype);

// Succeeds if max|actual - expected| is at most share * max|expected| + absolute. Otherwise, the
// message names the worst element with its expected and actual value.
testing::AssertionResult is_near(const Output& actual, const HostMatrix& expected, double share,
                                 double absolute = 0);

// The dtype that determines an output's tolerance. Most operations compute in the compute dtype,
// whatever they write; flat ones only round their output.
enum class JudgedBy { kComputeDType, kOutputDType };

// Runs `operation` twice on `tested`, expects the same bits, and compares with the reference.
void expect_conforms(Backend& tested, const OperationCall& operation,
                     JudgedBy judged_by = JudgedBy::kComputeDType);

// Return the outputs of `operation`, by name or in order.
std::map<std::string, HostMatrix> run_on_reference(const OperationCall& operation);
std::vector<Output> run_on(Backend& backend, const OperationCall& operation);

}  // namespace strata::device
