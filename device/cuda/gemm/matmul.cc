#include "device/cuda/gemm/matmul.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "device/buffer.h"
#include "device/cuda/runtime/alignment.h"
#include "device/cuda/runtime/autotune.h"

namespace strata::device::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

void check(cublasStatus_t status, const char* attempt) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail("cuda: {} failed: {}", attempt, cublasLtGetStatusString(status));
  }
}

cudaDataType_t cuda_type(Float8Operands::Format format) {
  return format == Float8Operands::Format::kE4M3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::kF16) return CUDA_R_16F;
  return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Bytes that an address is a multiple of, up to what cuBLASLt asks for unless told otherwise.
uint32_t alignment_of(const void* address) {
  constexpr uintptr_t kMost = 256;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | kMost;
  return static_cast<uint32_t>(bits & ~(bits - 1));
}

// What a GEMM without terms is.
void clear_output(const MatmulCall& call, cudaStream_t stream) {
  const size_t size = size_of(call.output_dtype);
  cuda::check(
      cudaMemset2DAsync(call.c, static_cast<size_t>(call.ldc) * size, 0,
                        static_cast<size_t>(call.n) * size, static_cast<size_t>(call.m), stream),
      "clearing the output of a GEMM without terms");
}

cublasLtEpilogue_t cublas_epilogue(const MatmulCall& call, const MatmulEpilogue& epilogue) {
  switch (epilogue.kind) {
    case MatmulEpilogue::Kind::kGelu:
      return epilogue.pre_activation ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                                     : CUBLASLT_EPILOGUE_GELU_BIAS;
    case MatmulEpilogue::Kind::kGeluGradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case MatmulEpilogue::Kind::kColumnSums:
      return CUBLASLT_EPILOGUE_BGRADB;
    case MatmulEpilogue::Kind::kNone:
      break;
  }
  return call.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
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

// The vector that is added to a product's rows, or made of its sums; null: there is none.
const void* vector_of(const MatmulCall& call, const MatmulEpilogue& epilogue) {
  return epilogue.column_sums ? epilogue.column_sums : call.bias;
}

// What a GEMM reads and writes. cuBLASLt is column-major: c[m, n] row-major is its C[n, m], the
// GEMM op(b) op(a).
struct Work {
  MatmulCall call;
  MatmulEpilogue epilogue;
  std::optional<Float8Operands> float8;
  int32_t multiprocessors = 0;  // see MatmulOptions

  cudaDataType_t a_type() const {
    return float8 ? cuda_type(float8->a) : cuda_type(call.input_dtype);
  }
  cudaDataType_t b_type() const {
    return float8 ? cuda_type(float8->b) : cuda_type(call.input_dtype);
  }
};

// How many parts an algorithm splits k into.
int32_t parts_of(const cublasLtMatmulAlgo_t& algorithm) {
  int32_t parts = 1;
  size_t written = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
  return status == CUBLAS_STATUS_SUCCESS ? parts : 1;
}

// The elements of k that cuBLASLt's algorithms take at a time.
constexpr int64_t kBlockOfK = 64;

// cuBLASLt's GEMMs of 16-bit numbers that are split along k into more parts than k exceeds a
// multiple of 64 by may leave these last terms out (versions 12.8 to 13.1 on compute capability
// 9.0; measured in facebookexperimental/triton, pull request 2767).
bool may_lose_terms(const cublasLtMatmulAlgo_t& algorithm, const Work& work) {
  const int64_t left = work.call.k % kBlockOfK;
  return left != 0 && !work.float8 && size_of(work.call.input_dtype) == 2 &&
         parts_of(algorithm) > left;
}

// Whether the GEMM sums over the rows of a batch (k varies from batch to batch): a weight gradient.
bool adds_up_rows(const Work& work) { return work.call.transpose_a && !work.float8; }

// The work that is measured for a neighbourhood: where k varies, with k rounded down to whole
// blocks. Else the first k would decide which algorithms may lose terms, and are then missing for
// all others.
Work measured_for(const Work& work) {
  Work measured = work;
  if (adds_up_rows(work) && work.call.k > kBlockOfK) measured.call.k -= work.call.k % kBlockOfK;
  return measured;
}

class Problem {
 public:
  explicit Problem(const Work& work) {
    const MatmulCall& call = work.call;
    check(cublasLtMatmulDescCreate(&operation_.descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing a GEMM");
    set(CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, cublas_epilogue(call, work.epilogue));
    if (call.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(call.input_dtype));
    if (work.epilogue.column_sums) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    if (work.epilogue.pre_activation) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.ldc);
    if (work.multiprocessors > 0) {
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, work.multiprocessors);
    }
    if (work.float8) {
      // Sums of products of activations may lose a little; those of gradients may not.
      const int8_t fast = work.float8->a == Float8Operands::Format::kE4M3 ? 1 : 0;
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    }
    point(work);
    describe(b_, work.b_type(), call.transpose_b ? call.k : call.n,
             call.transpose_b ? call.n : call.k, call.ldb);
    describe(a_, work.a_type(), call.transpose_a ? call.m : call.k,
             call.transpose_a ? call.k : call.m, call.lda);
    describe(c_, cuda_type(call.output_dtype), call.n, call.m, call.ldc);
  }

  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Of work of this problem's kind, best first as far as cuBLASLt can tell; none where it cannot do
  // this.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const Work& work) const {
    // Parts are added in f32.
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (work.call.output_dtype == DType::kF32) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
    std::vector<cublasLtMatmulAlgo_t> algorithms = candidates(handle, work, reductions);
    const size_t lossy = std::erase_if(
        algorithms, [&](const auto& algorithm) { return may_lose_terms(algorithm, work); });
    // There may be no candidate left, or none that suits every k.
    const bool k_varies = size_of(work.call.input_dtype) == 2 && adds_up_rows(work);
    const bool has_whole = std::any_of(algorithms.begin(), algorithms.end(), is_whole);
    if (lossy > 0 || (k_varies && !has_whole)) {
      const auto whole = candidates(handle, work, CUBLASLT_REDUCTION_SCHEME_NONE);
      algorithms.insert(algorithms.end(), whole.begin(), whole.end());
    }
    return algorithms;
  }

  static bool is_whole(const cublasLtMatmulAlgo_t& algorithm) { return parts_of(algorithm) == 1; }

  bool suits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
             const Work& work) const {
    cublasLtMatmulHeuristicResult_t result;
    return !may_lose_terms(algorithm, work) &&
           cublasLtMatmulAlgoCheck(handle, operation_.descriptor, b_.descriptor, a_.descriptor,
                                   c_.descriptor, c_.descriptor, &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= kWorkspaceBytes;
  }

  // Work of this problem's kind, with its own matrices.
  cublasStatus_t run(cublasLtHandle_t handle, cudaStream_t stream, void* workspace,
                     const Work& work, const cublasLtMatmulAlgo_t& algorithm) {
    point(work);
    const MatmulCall& call = work.call;
    const float one = 1.0f, added = call.accumulate ? 1.0f : 0.0f;
    return cublasLtMatmul(handle, operation_.descriptor, &one, call.b, b_.descriptor, call.a,
                          a_.descriptor, &added, call.c, c_.descriptor, call.c, c_.descriptor,
                          &algorithm, workspace, kWorkspaceBytes, stream);
  }

 private:
  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  // Those that add up parts in these ways only.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const Work& work,
                                               uint32_t reductions) const {
    constexpr int kMost = 8;
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check(cublasLtMatmulPreferenceCreate(&preference.descriptor), "asking for an algorithm");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference.descriptor, attribute, &value,
                                                 sizeof value),
            "asking for an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(work.call.b));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(work.call.a));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(work.call.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(work.call.c));
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    std::array<cublasLtMatmulHeuristicResult_t, kMost> results;
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation_.descriptor, b_.descriptor, a_.descriptor, c_.descriptor, c_.descriptor,
        preference.descriptor, kMost, results.data(), &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
    check(status, "choosing an algorithm");
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < found; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(results[i].algo);
    }
    return algorithms;
  }

  void point(const Work& work) {
    const void* vector = vector_of(work.call, work.epilogue);
    if (vector) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
    if (work.float8) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, work.float8->b_factor);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, work.float8->a_factor);
    }
    if (work.epilogue.pre_activation) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, work.epilogue.pre_activation);
    }
  }
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_.descriptor, attribute, &value, sizeof value),
          "describing a GEMM");
  }
  static void describe(Layout& layout, cudaDataType_t type, int64_t rows, int64_t columns,
                       int64_t stride) {
    check(cublasLtMatrixLayoutCreate(&layout.descriptor, type, static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), stride),
          "describing a matrix");
  }

  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Layout a_, b_, c_;
};

// Everything but the pointers, of which only the alignment counts, and whether they are there.
using Kind = std::tuple<bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, uint32_t,
                        uint32_t, uint32_t, uint32_t, uint32_t, bool, bool, cudaDataType_t,
                        cudaDataType_t, DType, MatmulEpilogue::Kind, bool, int32_t>;

Kind kind_of(const Work& work, int64_t m, int64_t k) {
  const MatmulCall& call = work.call;
  return {call.transpose_a,
          call.transpose_b,
          m,
          call.n,
          k,
          work.float8 ? k : call.lda,
          work.float8 ? k : call.ldb,
          call.ldc,
          alignment_of(call.a),
          alignment_of(call.b),
          alignment_of(call.c),
          alignment_of(vector_of(call, work.epilogue)),
          alignment_of(work.epilogue.pre_activation),
          call.accumulate,
          call.bias != nullptr,
          work.a_type(),
          work.b_type(),
          call.output_dtype,
          work.epilogue.kind,
          work.epilogue.pre_activation != nullptr,
          work.multiprocessors};
}

Kind kind_of(const Work& work) { return kind_of(work, work.call.m, work.call.k); }

// The rows of a batch vary: what is chosen for one number serves its neighbours. Weight gradients
// add up over these rows; elsewhere they are c's. In FP8 all GEMMs are laid out alike, so
// that it may be either.
Kind neighbourhood_of(const Work& work) {
  const auto rounded = [](int64_t rows) {
    return (rows + kRowsTriedTogether - 1) / kRowsTriedTogether * kRowsTriedTogether;
  };
  if (work.float8) return kind_of(work, rounded(work.call.m), rounded(work.call.k));
  return adds_up_rows(work) ? kind_of(work, work.call.m, rounded(work.call.k))
                            : kind_of(work, rounded(work.call.m), work.call.k);
}

// How GEMMs of one kind are run.
struct Plan {
  explicit Plan(const Work& work) : problem(work) {}

  Problem problem;
  std::optional<cublasLtMatmulAlgo_t> algorithm;  // none: cuBLASLt has none
};

// The first plans are kept for ever. They include those of all steps that may be captured, since a
// run captures the first shapes it sees (device::GraphCache): cuBLASLt cannot be asked for an
// algorithm during capture.
constexpr size_t kMostKept = size_t{1} << 14;
// Further plans; all of them are dropped when there are too many.
constexpr size_t kMostPassing = size_t{1} << 12;

// The fastest algorithms in a neighbourhood.
struct Winners {
  cublasLtMatmulAlgo_t fastest;
  // The fastest of those that do not split k, for work that the other does not suit.
  std::optional<cublasLtMatmulAlgo_t> whole;
};

// Memory to write to in a trial, in place of what the work would write to.
struct TrialOutputs {
  Scratch c, pre_activation, column_sums;

  Work in_place_of(const Work& work) {
    Work trial = work;
    const int64_t bytes =
        work.call.m * work.call.ldc * static_cast<int64_t>(size_of(work.call.output_dtype));
    trial.call.c = c.get<char>(bytes);
    if (work.epilogue.kind == MatmulEpilogue::Kind::kGelu && work.epilogue.pre_activation) {
      trial.epilogue.pre_activation = pre_activation.get<char>(bytes);
    }
    if (work.epilogue.column_sums) {
      trial.epilogue.column_sums = column_sums.get<float>(work.call.m);
    }
    return trial;
  }
};

}  // namespace

struct Matmul::State {
  State(cudaStream_t stream_, const MatmulOptions& options_) : stream(stream_), options(options_) {
    check(cublasLtCreate(&handle), "starting cuBLASLt");
    cuda::check(cudaMalloc(&workspace, kWorkspaceBytes), "allocating cuBLASLt's workspace");
  }
  ~State() {
    cudaFree(workspace);
    cublasLtDestroy(handle);
  }

  Plan& plan_of(const Work& work);
  std::optional<cublasLtMatmulAlgo_t> algorithm_of(const Problem& problem, const Work& work);
  std::optional<cublasLtMatmulAlgo_t> favourite(const Problem& problem, const Work& work) const;
  std::optional<Winners> winners(const Work& work);
  void measure(Problem& problem, const Work& trial,
               std::span<const cublasLtMatmulAlgo_t> candidates, std::span<float> times);
  cublasStatus_t run(Problem& problem, const Work& work, const cublasLtMatmulAlgo_t& algorithm) {
    return problem.run(handle, stream, workspace, work, algorithm);
  }
  void run(const Work& work);
  void run(Plan& plan, const Work& work);
  bool is_fused(const Work& work, const Separately& separately);

  cudaStream_t stream;
  MatmulOptions options;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  // Of neighbourhoods.
  std::map<Kind, Winners> chosen;
  std::map<Kind, bool> fused;
  std::map<Kind, Plan> kept, passing;
};

void Matmul::State::run(const Work& work) {
  const MatmulCall& call = work.call;
  if (call.m == 0 || call.n == 0) return;
  if (call.k == 0) {
    if (!call.accumulate) clear_output(call, stream);
    return;
  }
  Plan& plan = plan_of(work);
  if (!plan.algorithm) {
    fail("cuda: cuBLASLt has no algorithm for a GEMM of {} x {} x {}{}", call.m, call.n, call.k,
         work.float8 ? " in FP8: all three must be multiples of 16" : "");
  }
  run(plan, work);
}

void Matmul::State::run(Plan& plan, const Work& work) {
  cublasStatus_t status = run(plan.problem, work, *plan.algorithm);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
    // What was fastest for a neighbour, and passed cuBLASLt's own check.
    if (const auto other = favourite(plan.problem, work)) plan.algorithm = other;
    status = run(plan.problem, work, *plan.algorithm);
  }
  check(status, "a GEMM");
}

// A step has one kind of GEMM in every layer: only the first layer's is described anew.
Plan& Matmul::State::plan_of(const Work& work) {
  const Kind kind = kind_of(work);
  for (auto* plans : {&kept, &passing}) {
    if (const auto known = plans->find(kind); known != plans->end()) return known->second;
  }
  if (passing.size() >= kMostPassing && !is_captured(stream)) passing.clear();
  auto& plans = kept.size() < kMostKept ? kept : passing;
  const auto added = plans.try_emplace(kind, work).first;
  try {
    added->second.algorithm = algorithm_of(added->second.problem, work);
  } catch (...) {
    plans.erase(added);
    throw;
  }
  return added->second;
}

std::optional<cublasLtMatmulAlgo_t> Matmul::State::algorithm_of(const Problem& problem,
                                                                const Work& work) {
  const Kind neighbourhood = neighbourhood_of(work);
  auto known = chosen.find(neighbourhood);
  if (known == chosen.end()) {
    if (is_captured(stream)) return favourite(problem, work);  // nothing can be measured
    try {
      const auto found = winners(work);
      if (!found) return {};  // a neighbour may have one
      known = chosen.emplace(neighbourhood, *found).first;
    } catch (const OutOfDeviceMemory&) {
      return favourite(problem, work);  // there is no memory for a trial's outputs
    }
  }
  // An algorithm may not suit every number of rows of its neighbourhood.
  const auto& [fastest, whole] = known->second;
  if (problem.suits(handle, fastest, work)) return fastest;
  if (whole && problem.suits(handle, *whole, work)) return whole;
  return favourite(problem, work);
}

std::optional<cublasLtMatmulAlgo_t> Matmul::State::favourite(const Problem& problem,
                                                             const Work& work) const {
  const auto candidates = problem.candidates(handle, work);
  return candidates.empty() ? std::nullopt : std::optional(candidates.front());
}

// Tries the candidates on the work's inputs and outputs of their own.
std::optional<Winners> Matmul::State::winners(const Work& work) {
  const Work measured = measured_for(work);
  Problem problem(measured);
  const auto candidates = problem.candidates(handle, measured);
  std::vector<float> times(candidates.size(), kNever);
  TrialOutputs outputs;
  measure(problem, outputs.in_place_of(measured), candidates, times);
  const auto fastest = first_of_fastest(times);
  if (!fastest) return {};
  Winners found{candidates[*fastest], {}};
  if (Problem::is_whole(found.fastest)) return found;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!Problem::is_whole(candidates[i])) times[i] = kNever;
  }
  if (const auto whole = first_of_fastest(times)) found.whole = candidates[*whole];
  return found;
}

// Stores the smaller of two times for each candidate, because the GPU may be idle and slow at
// first. A candidate far from the best is tried once.
void Matmul::State::measure(Problem& problem, const Work& trial,
                            std::span<const cublasLtMatmulAlgo_t> candidates,
                            std::span<float> times) {
  constexpr float kFar = 1.25f;
  float bound = kNever;
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (times[i] > bound || run(problem, trial, candidates[i]) != CUBLAS_STATUS_SUCCESS) continue;
      const float time =
          milliseconds(stream, [&] { check(run(problem, trial, candidates[i]), "trying a GEMM"); });
      times[i] = std::min(times[i], time);
    }
    for (const float time : times) bound = std::min(bound, kFar * time);
  }
}

// Whether work is clearly faster with its epilogue in the GEMM: the least of two times each, in
// turns.
bool Matmul::State::is_fused(const Work& work, const Separately& separately) {
  const Kind neighbourhood = neighbourhood_of(work);
  if (const auto known = fused.find(neighbourhood); known != fused.end()) {
    return known->second && plan_of(work).algorithm.has_value();
  }
  if (options.epilogues == FusedEpilogues::kNever || is_captured(stream)) return false;
  bool faster = false;
  const Work measured = measured_for(work);
  TrialOutputs outputs;
  Work trial;
  try {
    trial = outputs.in_place_of(measured);
  } catch (const OutOfDeviceMemory&) {
    return false;
  }
  if (Plan& plan = plan_of(measured);
      plan.algorithm && run(plan.problem, trial, *plan.algorithm) == CUBLAS_STATUS_SUCCESS) {
    faster = options.epilogues == FusedEpilogues::kAlways;
    if (!faster) {
      separately(trial.call, trial.epilogue);
      float in_one = kNever, apart = kNever;
      for (int turn = 0; turn < 2; ++turn) {
        // Asked for anew: GEMMs of `separately` may have made plans be forgotten.
        in_one = std::min(in_one, milliseconds(stream, [&] { run(plan_of(measured), trial); }));
        apart =
            std::min(apart, milliseconds(stream, [&] { separately(trial.call, trial.epilogue); }));
      }
      faster = is_clearly_faster(in_one, apart);
    }
  }
  fused.emplace(neighbourhood, faster);
  return faster && plan_of(work).algorithm.has_value();
}

Matmul::Matmul(cudaStream_t stream, const MatmulOptions& options)
    : state_(std::make_unique<State>(stream, options)) {}

Matmul::~Matmul() = default;

void Matmul::operator()(const MatmulCall& call) {
  state_->run({call, {}, {}, state_->options.multiprocessors});
}

void Matmul::operator()(const MatmulCall& call, const Float8Operands& operands) {
  state_->run({call, {}, operands, state_->options.multiprocessors});
}

bool Matmul::operator()(const MatmulCall& call, const MatmulEpilogue& epilogue,
                        const Separately& separately) {
  const Work work{call, epilogue, {}, state_->options.multiprocessors};
  const bool possible =
      call.m > 0 && call.n > 0 && call.k > 0 && call.input_dtype == DType::kBF16 &&
      call.lda % 8 == 0 && call.ldb % 8 == 0 && call.ldc % 8 == 0 &&
      are_aligned(call.a, call.b, call.c, vector_of(call, epilogue), epilogue.pre_activation);
  if (!possible || !state_->is_fused(work, separately)) {
    separately(call, epilogue);
    return false;
  }
  state_->run(state_->plan_of(work), work);
  return true;
}

std::string cublaslt_version() {
  const size_t version = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace strata::device::cuda
