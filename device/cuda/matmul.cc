#include "device/cuda/matmul.h"

#include <cublasLt.h>

#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "base/error.h"

namespace strata::device::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

void check(cublasStatus_t status, const char* attempt) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail("cuda: {} failed: {}", attempt, cublasLtGetStatusString(status));
  }
}

cudaDataType_t cuda_type(DType dtype) { return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F; }

// Bytes that an address is a multiple of, up to what cuBLASLt asks for unless told otherwise.
uint32_t alignment_of(const void* address) {
  constexpr uintptr_t kMost = 256;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | kMost;
  return static_cast<uint32_t>(bits & ~(bits - 1));
}

// Owns a descriptor that `Create` makes and `Destroy` frees.
template <typename Descriptor, auto Destroy>
struct Owned {
  Descriptor descriptor = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (descriptor) Destroy(descriptor);
  }
};

// cuBLASLt is column-major: c[m, n] row-major is its C[n, m], the product op(b) op(a).
class Problem {
 public:
  explicit Problem(const MatmulCall& call)
      : a_alignment_(alignment_of(call.a)),
        b_alignment_(alignment_of(call.b)),
        c_alignment_(alignment_of(call.c)) {
    check(cublasLtMatmulDescCreate(&operation_.descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (call.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(call.input_dtype));
      point_to_bias(call);
    }
    describe(b_, call.input_dtype, call.transpose_b ? call.k : call.n,
             call.transpose_b ? call.n : call.k, call.ldb);
    describe(a_, call.input_dtype, call.transpose_a ? call.m : call.k,
             call.transpose_a ? call.k : call.m, call.lda);
    describe(c_, call.output_dtype, call.n, call.m, call.ldc);
  }

  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle) const {
    constexpr int kMost = 8;
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check(cublasLtMatmulPreferenceCreate(&preference.descriptor), "asking for an algorithm");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference.descriptor, attribute, &value,
                                                 sizeof value),
            "asking for an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b_alignment_);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a_alignment_);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_alignment_);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c_alignment_);
    std::array<cublasLtMatmulHeuristicResult_t, kMost> results;
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, operation_.descriptor, b_.descriptor,
                                         a_.descriptor, c_.descriptor, c_.descriptor,
                                         preference.descriptor, kMost, results.data(), &found),
          "choosing an algorithm");
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < found; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(results[i].algo);
    }
    return algorithms;
  }

  bool suits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(handle, operation_.descriptor, b_.descriptor, a_.descriptor,
                                   c_.descriptor, c_.descriptor, &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= kWorkspaceBytes;
  }

  // A call of this problem's kind, with its own matrices; `c` in place of the call's.
  void run(cublasLtHandle_t handle, cudaStream_t stream, void* workspace, const MatmulCall& call,
           void* c, const cublasLtMatmulAlgo_t& algorithm) {
    if (call.bias) point_to_bias(call);
    const float one = 1.0f, added = call.accumulate ? 1.0f : 0.0f;
    check(cublasLtMatmul(handle, operation_.descriptor, &one, call.b, b_.descriptor, call.a,
                         a_.descriptor, &added, c, c_.descriptor, c, c_.descriptor, &algorithm,
                         workspace, kWorkspaceBytes, stream),
          "a matrix product");
  }

 private:
  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  void point_to_bias(const MatmulCall& call) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias); }
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_.descriptor, attribute, &value, sizeof value),
          "describing a product");
  }
  static void describe(Layout& layout, DType dtype, int64_t rows, int64_t columns, int64_t stride) {
    check(cublasLtMatrixLayoutCreate(&layout.descriptor, cuda_type(dtype),
                                     static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                     stride),
          "describing a matrix");
  }

  uint32_t a_alignment_, b_alignment_, c_alignment_;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Layout a_, b_, c_;
};

// Everything but the pointers, of which only the alignment counts.
using Kind = std::tuple<bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, uint32_t,
                        uint32_t, uint32_t, bool, bool, DType, DType>;

Kind kind_of(const MatmulCall& call, int64_t m, int64_t k) {
  return {call.transpose_a,
          call.transpose_b,
          m,
          call.n,
          k,
          call.lda,
          call.ldb,
          call.ldc,
          alignment_of(call.a),
          alignment_of(call.b),
          alignment_of(call.c),
          call.accumulate,
          call.bias != nullptr,
          call.input_dtype,
          call.output_dtype};
}

Kind kind_of(const MatmulCall& call) { return kind_of(call, call.m, call.k); }

// The rows of a batch vary: an algorithm chosen for one number serves its neighbours. Weight
// gradients add up over these rows; elsewhere they are c's.
Kind neighbourhood_of(const MatmulCall& call) {
  const auto rounded = [](int64_t rows) {
    constexpr int64_t kStep = 1024;
    return (rows + kStep - 1) / kStep * kStep;
  };
  return call.transpose_a ? kind_of(call, call.m, rounded(call.k))
                          : kind_of(call, rounded(call.m), call.k);
}

// How products of one kind are run.
struct Plan {
  explicit Plan(const MatmulCall& call) : problem(call) {}

  Problem problem;
  cublasLtMatmulAlgo_t algorithm = {};
};

// All of a step's products, of several steps.
constexpr size_t kMostPlans = 1024;

}  // namespace

struct Matmul::State {
  explicit State(cudaStream_t stream_) : stream(stream_) {
    check(cublasLtCreate(&handle), "starting cuBLASLt");
    cuda::check(cudaMalloc(&workspace, kWorkspaceBytes), "allocating cuBLASLt's workspace");
  }
  ~State() {
    cudaFree(workspace);
    cublasLtDestroy(handle);
  }

  Plan& plan_of(const MatmulCall& call);
  cublasLtMatmulAlgo_t algorithm_of(Problem& problem, const MatmulCall& call);
  cublasLtMatmulAlgo_t fastest(Problem& problem, const MatmulCall& call);
  bool is_captured() const;
  float milliseconds(Problem& problem, const MatmulCall& call, void* c,
                     const cublasLtMatmulAlgo_t& algorithm);

  cudaStream_t stream;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<Kind, cublasLtMatmulAlgo_t> chosen;  // of neighbourhoods
  std::map<Kind, Plan> plans;
};

// A step has one kind of product in every layer: only the first layer's is described anew.
Plan& Matmul::State::plan_of(const MatmulCall& call) {
  const Kind kind = kind_of(call);
  if (const auto known = plans.find(kind); known != plans.end()) return known->second;
  if (plans.size() >= kMostPlans) plans.clear();
  Plan& plan = plans.try_emplace(kind, call).first->second;
  plan.algorithm = algorithm_of(plan.problem, call);
  return plan;
}

cublasLtMatmulAlgo_t Matmul::State::algorithm_of(Problem& problem, const MatmulCall& call) {
  const Kind neighbourhood = neighbourhood_of(call);
  auto known = chosen.find(neighbourhood);
  if (known == chosen.end()) {
    // Nothing runs while a graph is captured.
    if (is_captured()) return problem.candidates(handle).at(0);
    known = chosen.emplace(neighbourhood, fastest(problem, call)).first;
  }
  // An algorithm may not suit every number of rows of its neighbourhood.
  return problem.suits(handle, known->second) ? known->second : problem.candidates(handle).at(0);
}

// Tries the candidates on the call's inputs and an output of their own.
cublasLtMatmulAlgo_t Matmul::State::fastest(Problem& problem, const MatmulCall& call) {
  const auto candidates = problem.candidates(handle);
  if (candidates.empty()) {
    fail("cuda: cuBLASLt has no algorithm for a product of {} x {} x {}", call.m, call.n, call.k);
  }
  if (candidates.size() == 1) return candidates.front();
  Scratch output;
  void* c = output.get<char>(call.m * call.ldc * static_cast<int64_t>(size_of(call.output_dtype)));
  float best = std::numeric_limits<float>::infinity();
  size_t winner = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const float time = milliseconds(problem, call, c, candidates[i]);
    if (time < best) {
      best = time;
      winner = i;
    }
  }
  return candidates[winner];
}

bool Matmul::State::is_captured() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda::check(cudaStreamIsCapturing(stream, &status), "asking for a stream's state");
  return status != cudaStreamCaptureStatusNone;
}

float Matmul::State::milliseconds(Problem& problem, const MatmulCall& call, void* c,
                                  const cublasLtMatmulAlgo_t& algorithm) {
  constexpr int kRuns = 3;
  cudaEvent_t begin, end;
  cuda::check(cudaEventCreate(&begin), "timing a product");
  cuda::check(cudaEventCreate(&end), "timing a product");
  problem.run(handle, stream, workspace, call, c, algorithm);
  cuda::check(cudaEventRecord(begin, stream), "timing a product");
  for (int i = 0; i < kRuns; ++i) problem.run(handle, stream, workspace, call, c, algorithm);
  cuda::check(cudaEventRecord(end, stream), "timing a product");
  cuda::check(cudaEventSynchronize(end), "timing a product");
  float time = 0.0f;
  cuda::check(cudaEventElapsedTime(&time, begin, end), "timing a product");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return time / kRuns;
}

Matmul::Matmul(cudaStream_t stream) : state_(std::make_unique<State>(stream)) {}

Matmul::~Matmul() = default;

void Matmul::operator()(const MatmulCall& call) {
  if (call.m == 0 || call.n == 0 || call.k == 0) return;
  State& state = *state_;
  Plan& plan = state.plan_of(call);
  plan.problem.run(state.handle, state.stream, state.workspace, call, call.c, plan.algorithm);
}

}  // namespace strata::device::cuda
