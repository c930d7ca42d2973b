#include "device/cpu/gemm/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "device/cpu/bf16/gemm.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/gemm/widen.h"
#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {
namespace {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

void fill_rows(float* c, int64_t rows, int64_t ldc, const float* values, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(c + row * ldc, values, static_cast<size_t>(columns) * sizeof(float));
  }
}

void sgemm(const MatmulCall& call) {
  float* c = static_cast<float*>(call.c);
  if (call.bias) fill_rows(c, call.m, call.ldc, static_cast<const float*>(call.bias), call.n);
  const float beta = call.accumulate || call.bias ? 1.0f : 0.0f;
  const dnnl_status_t status =
      dnnl_sgemm(call.transpose_a ? 'T' : 'N', call.transpose_b ? 'T' : 'N', call.m, call.n, call.k,
                 1.0f, static_cast<const float*>(call.a), call.lda,
                 static_cast<const float*>(call.b), call.ldb, beta, c, call.ldc);
  if (status != dnnl_success) fail("oneDNN sgemm failed with status {}", static_cast<int>(status));
}

// T: Float16, or uint16_t for bf16.
template <typename T>
void widened_matmul(const MatmulCall& call) {
  static PerThread<std::array<Scratch, 4>> of_threads;
  std::array<Scratch, 4>& scratch = of_threads.get();
  const auto widened = [&](size_t slot, const void* from, int64_t rows, int64_t columns,
                           int64_t ld) -> float* {
    float* to = scratch[slot].get<float>(rows * columns);
    widen(static_cast<const T*>(from), rows, columns, ld, to);
    return to;
  };
  MatmulCall wide = call;
  wide.lda = call.transpose_a ? call.m : call.k;
  wide.ldb = call.transpose_b ? call.k : call.n;
  wide.a = widened(0, call.a, call.transpose_a ? call.k : call.m, wide.lda, call.lda);
  wide.b = widened(1, call.b, call.transpose_b ? call.n : call.k, wide.ldb, call.ldb);
  if (call.bias) wide.bias = widened(2, call.bias, 1, call.n, call.n);
  if (call.output_dtype == DType::kF32) return sgemm(wide);
  float* product = scratch[3].get<float>(call.m * call.n);
  T* c = static_cast<T*>(call.c);
  if (call.accumulate) widen<T>(c, call.m, call.n, call.ldc, product);
  wide.c = product;
  wide.ldc = call.n;
  sgemm(wide);
  narrow(product, call.m, call.n, c, call.ldc);
}

struct Shape {
  int64_t m, n, k, lda, ldb, ldc;
  bool transpose_a, transpose_b, bias, accumulate;
  DType output;
  int threads;
  bool operator==(const Shape&) const = default;
};

struct ShapeHash {
  size_t operator()(const Shape& s) const {
    size_t hash = 0;
    for (const int64_t value :
         {s.m, s.n, s.k, s.lda, s.ldb, s.ldc,
          int64_t{s.transpose_a} | s.transpose_b << 1 | s.bias << 2 | s.accumulate << 3 |
              static_cast<int>(s.output) << 4 | s.threads << 8}) {
      hash = hash * 0x9e3779b97f4a7c15ull + static_cast<size_t>(value);
    }
    return hash;
  }
};

struct CompiledMatmul {
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, c, bias, scratchpad;
};

dnnl::memory::desc matrix(int64_t rows, int64_t cols, int64_t ld, bool transposed,
                          dnnl::memory::data_type dtype) {
  return {{rows, cols}, dtype, transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1}};
}

// The only difference between oneDNN 2 and 3: in 3 an operation has no description apart from its
// primitive's.
dnnl::matmul::primitive_desc describe(const CompiledMatmul& of, bool bias,
                                      const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias) return {cpu_engine(), of.a, of.b, of.bias, of.c, attributes};
  return {cpu_engine(), of.a, of.b, of.c, attributes};
#else
  if (bias) return {{of.a, of.b, of.bias, of.c}, attributes, cpu_engine()};
  return {{of.a, of.b, of.c}, attributes, cpu_engine()};
#endif
}

CompiledMatmul compile(const Shape& s) {
  using DataType = dnnl::memory::data_type;
  const DataType output = s.output == DType::kF32 ? DataType::f32 : DataType::bf16;
  CompiledMatmul compiled;
  compiled.a = matrix(s.m, s.k, s.lda, s.transpose_a, DataType::bf16);
  compiled.b = matrix(s.k, s.n, s.ldb, s.transpose_b, DataType::bf16);
  compiled.c = matrix(s.m, s.n, s.ldc, false, output);
  if (s.bias) compiled.bias = {{1, s.n}, DataType::bf16, dnnl::memory::dims{s.n, 1}};
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (s.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::primitive_desc primitive = describe(compiled, s.bias, attributes);
  compiled.scratchpad = primitive.scratchpad_desc();
  compiled.primitive = dnnl::matmul(primitive);
  return compiled;
}

// Caches compiled GEMMs by shape; compiling one takes about a millisecond.
class MatmulCache {
 public:
  const CompiledMatmul& get(const Shape& shape) {
    {
      const std::shared_lock lock(mutex_);
      const auto found = compiled_.find(shape);
      if (found != compiled_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    const auto found = compiled_.find(shape);
    if (found != compiled_.end()) return found->second;
    return compiled_.emplace(shape, compile(shape)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<Shape, CompiledMatmul, ShapeHash> compiled_;
};

void bf16_matmul(const MatmulCall& call) {
  static MatmulCache cache;
  static PerThread<std::vector<char>> scratchpads;
  static PerThread<dnnl::stream> streams;
  std::vector<char>& scratchpad = scratchpads.get();
  dnnl::stream& stream = streams.get(cpu_engine());
  const int threads = openmp_threads();
  const CompiledMatmul& compiled = cache.get(
      {call.m, call.n, call.k, call.lda, call.ldb, call.ldc, call.transpose_a, call.transpose_b,
       call.bias != nullptr, call.accumulate, call.output_dtype, threads});
  const size_t needed = compiled.scratchpad.get_size();
  if (scratchpad.size() < needed + 64) scratchpad.resize(needed + 64);
  char* aligned = scratchpad.data() + (64 - reinterpret_cast<uintptr_t>(scratchpad.data()) % 64);
  const auto memory = [](const dnnl::memory::desc& desc, const void* data) {
    return dnnl::memory(desc, cpu_engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, memory(compiled.a, call.a)},
      {DNNL_ARG_WEIGHTS, memory(compiled.b, call.b)},
      {DNNL_ARG_DST, memory(compiled.c, call.c)},
      {DNNL_ARG_SCRATCHPAD, memory(compiled.scratchpad, aligned)},
  };
  if (call.bias) arguments.emplace(DNNL_ARG_BIAS, memory(compiled.bias, call.bias));
  compiled.primitive.execute(stream, arguments);
}

bool processor_has(dnnl::cpu_isa wanted) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

}  // namespace

bool onednn_multiplies_bf16() {
  static const bool has = processor_has(dnnl::cpu_isa::avx512_core) &&
                          kernels_for_this_cpu().instruction_set == std::string_view("avx512");
  return has;
}

void matmul(const MatmulCall& call) {
  if (call.m == 0 || call.n == 0) return;
  try {
    if (call.input_dtype == DType::kF32) {
      sgemm(call);
    } else if (call.input_dtype == DType::kF16) {
      widened_matmul<Float16>(call);
    } else if (bf16_gemm_takes(call)) {
      bf16_gemm(call, openmp_threads());
    } else if (onednn_multiplies_bf16()) {
      bf16_matmul(call);
    } else {
      widened_matmul<uint16_t>(call);
    }
  } catch (const dnnl::error& error) {
    fail("oneDNN cannot run the GEMM [{}, {}] x [{}, {}]: {}", call.m, call.k, call.k, call.n,
         error.what());
  }
}

bool bf16_is_native() {
  return onednn_multiplies_bf16() && processor_has(dnnl::cpu_isa::avx512_core_bf16);
}

std::string onednn_version() {
  const dnnl_version_t* loaded = dnnl_version();
  return fmt::format("{}.{}.{}", loaded->major, loaded->minor, loaded->patch);
}

}  // namespace strata::device::cpu
