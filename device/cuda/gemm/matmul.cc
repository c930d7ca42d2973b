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
#include "device/cuda/gemm/matmul_problem.h"
#include "device/cuda/runtime/alignment.h"
#include "device/cuda/runtime/autotune.h"
#include "device/memory/buffer.h"

namespace strata::device::cuda {
namespace {

// Everything but the pointers, of which only alignment and presence matter.
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

// The number of rows varies between batches, so nearby numbers share a choice. Weight gradients sum
// over these rows; in other GEMMs they are c's. All FP8 GEMMs have the same layout, so that it may
// be either.
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
  std::optional<cublasLtMatmulAlgo_t> algorithm;  // nullopt if cuBLASLt has none
};

// The first plans are kept forever. They include those of all steps that may be captured, because a
// run captures the first shapes it sees (device::GraphCache), and cuBLASLt cannot be asked for an
// algorithm during capture.
constexpr size_t kMostKept = size_t{1} << 14;
// Maximum number of further plans; when it is exceeded, all of them are dropped.
constexpr size_t kMostPassing = size_t{1} << 12;

// The fastest algorithms for a neighbourhood of kinds.
struct Winners {
  cublasLtMatmulAlgo_t fastest;
  // The fastest algorithm that does not split k, for work that the other does not support.
  std::optional<cublasLtMatmulAlgo_t> whole;
};

// Outputs of a trial, in place of the work's own.
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
  // Keyed by neighbourhood.
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
    // The algorithm was the fastest for a neighbour and passed cuBLASLt's check, but may still
    // fail.
    if (const auto other = favourite(plan.problem, work)) plan.algorithm = other;
    status = run(plan.problem, work, *plan.algorithm);
  }
  check(status, "a GEMM");
}

// All layers have the same kinds of GEMMs in a step, so only the first layer's are described anew.
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
      return favourite(problem, work);  // no memory for a trial's outputs
    }
  }
  // An algorithm may not support every number of rows of its neighbourhood.
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

// Tries the candidates on the work's inputs, with separate outputs.
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

// Returns true if work is clearly faster with its epilogue in the GEMM. Compares the smaller of two
// times each, measured alternately.
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
        // Looks the plan up again, because GEMMs of `separately` may have caused plans to be
        // dropped.
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
