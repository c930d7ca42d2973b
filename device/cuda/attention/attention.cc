#include "device/cuda/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "device/cuda/attention/difference.h"
#include "device/cuda/gemm/float8.h"
#include "device/cuda/runtime/alignment.h"
#include "device/cuda/runtime/autotune.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

#ifdef STRATA_WITHOUT_WGMMA
constexpr bool kIsBuiltForWgmma = false;
#else
constexpr bool kIsBuiltForWgmma = true;
#endif

// For bf16; kPlain does not support FP8 copies.
void run(AttentionKernel kernel, const Context& context, const AttentionForward& op) {
  switch (kernel) {
    case AttentionKernel::kMma:
      return mma_attention_forward(context, op);
    case AttentionKernel::kWgmma:
      return wgmma_attention_forward(context, op);
    case AttentionKernel::kCudnn:
      return context.attention.cudnn().forward(context, op);
    default:
      return plain_attention_forward<BFloat16>(context, op);
  }
}

// Plain attention computes the rows' means from the context, as the kernels do that it checks.
void run(AttentionKernel kernel, const Context& context, const AttentionBackward& op) {
  switch (kernel) {
    case AttentionKernel::kMma:
      return mma_attention_backward(context, op);
    case AttentionKernel::kWgmma:
      return wgmma_attention_backward(context, op);
    case AttentionKernel::kCudnn:
      return context.attention.cudnn().backward(context, op);
    default:
      return plain_attention_backward<BFloat16>(context, op, RowMean::kOfContext);
  }
}

const char* name_of(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kMma:
      return "mma";
    case AttentionKernel::kWgmma:
      return "wgmma";
    case AttentionKernel::kCudnn:
      return "cuDNN";
    default:
      return "plain";
  }
}

// Returns the operations of the GEMMs, two forward and five backward, for sequences of equal
// length, which is a lower bound.
double flops_of(const AttentionForward& op) {
  const auto tokens = static_cast<double>(op.context.rows);
  return 4 * tokens * tokens / std::max(op.sequences.count, 1) *
         static_cast<double>(op.context.cols);
}
double flops_of(const AttentionBackward& op) {
  const auto tokens = static_cast<double>(op.context.rows);
  return 10 * tokens * tokens / std::max(op.sequences.count, 1) *
         static_cast<double>(op.context.cols);
}

// A part of the results: columns of a tensor.
struct Result {
  const char* name;
  ConstTensor tensor;
  int64_t first_column, columns;
  bool is_logarithm = false;
};

// A copy of an operation for trials, with other outputs.
template <typename Op>
struct Trial;

template <>
struct Trial<AttentionForward> {
  explicit Trial(const AttentionForward& real) : op(real) {
    op.context.data = context.get<BFloat16>(op.context.size());
    op.log_sum_exp.data = log_sum_exp.get<float>(op.log_sum_exp.size());
    op.context_float8 = {};
  }
  std::array<Result, 2> results() const {
    return {{{"context", op.context, 0, op.context.cols},
             {"log_sum_exp", op.log_sum_exp, 0, op.log_sum_exp.cols, true}}};
  }
  Scratch context, log_sum_exp;
  AttentionForward op;
};

template <>
struct Trial<AttentionBackward> {
  explicit Trial(const AttentionBackward& real) : op(real) {
    op.d_qkv.data = d_qkv.get<BFloat16>(op.d_qkv.size());
    op.d_qkv_float8 = {};
  }
  std::array<Result, 3> results() const {
    const int64_t hidden = op.context.cols;
    return {{{"query gradient", op.d_qkv, 0, hidden},
             {"key gradient", op.d_qkv, hidden, hidden},
             {"value gradient", op.d_qkv, 2 * hidden, hidden}}};
  }
  Scratch d_qkv;
  AttentionBackward op;
};

// Requires a clear advantage, so that all processes choose the same kernel, with the same bits, if
// several are about as fast.
constexpr float kClearly = 0.95f;
// Results of correct kernels differ by less than this fraction of the largest; the conformance
// suite allows each of them 1 % from exact results. Logarithms of sums differ by less than this.
constexpr float kRounding = 1.0f / 32;
// Gradients smaller than others by this factor may consist of rounding errors, for example the
// query's in a sequence of one token.
constexpr float kSmall = 1.0f / 64;

// Compares kernels' results on one operation's inputs with those of a trusted kernel. The trusted
// kernel is mma until another kernel disagrees with it, then plain attention, with which mma is
// compared, too.
template <typename Op>
class Judge {
 public:
  // Throws Error if GPU memory has no room for two copies of the results.
  Judge(const Context& context, const Op& op) : context_(context), first_(op), second_(op) {}

  // Computes the first trusted results. Must be called first.
  void believe_mma() { run(believed_, context_, believed_results_->op); }

  const Op& trial() const { return trial_->op; }
  // False if results cannot be compared, because plain attention was run and its results are not
  // finite.
  bool can_tell() const { return can_tell_; }
  bool mma_is_right() const { return mma_is_right_; }

  // Returns true if the kernel's results agree with the trusted ones. Otherwise reports it on
  // standard error.
  bool is_right(AttentionKernel kernel) {
    run(kernel, context_, trial_->op);
    if (agrees(kernel, believed_ == AttentionKernel::kPlain)) return true;
    if (believed_ == AttentionKernel::kPlain || !ask_plain()) return false;
    run(kernel, context_, trial_->op);
    return agrees(kernel, true);
  }

 private:
  // Trusts plain attention from now on, and checks mma with it.
  bool ask_plain() {
    try {
      run(AttentionKernel::kPlain, context_, trial_->op);
    } catch (const Error& error) {
      print_to_stderr(
          "cuda: attention kernels disagree, and plain attention could not be run to decide ({}); "
          "using mma\n",
          error.what());
      return false;
    }
    std::swap(believed_results_, trial_);
    believed_ = AttentionKernel::kPlain;
    mma_is_right_ = agrees(AttentionKernel::kMma, true);
    return true;
  }

  bool agrees(AttentionKernel kernel, bool says_so) {
    const auto believed = believed_results_->results(), tried = trial_->results();
    std::array<Difference, std::tuple_size_v<decltype(tried)>> differences;
    float largest = 0.0f;
    for (size_t i = 0; i < tried.size(); ++i) {
      differences[i] = difference_of(context_, believed[i].tensor, tried[i].tensor,
                                     tried[i].first_column, tried[i].columns);
      if (!tried[i].is_logarithm) largest = std::max(largest, differences[i].largest_value);
    }
    for (size_t i = 0; i < tried.size(); ++i) {
      const Difference& difference = differences[i];
      const float bound =
          kRounding *
          (tried[i].is_logarithm ? 1.0f : std::max(difference.largest_value, kSmall * largest));
      if (difference.largest <= bound) continue;  // false for NaN
      if (!std::isfinite(difference.largest_value)) {
        if (believed_ == AttentionKernel::kPlain) can_tell_ = false;
      } else if (says_so) {
        print_to_stderr(
            "cuda: attention by {} is not used: its {} differs by up to {:.3g} from that of {} "
            "(largest value {:.3g}); run the conformance tests of Attention for details\n",
            name_of(kernel), tried[i].name, difference.largest, name_of(believed_),
            difference.largest_value);
      }
      return false;
    }
    return true;
  }

  const Context& context_;
  Trial<Op> first_, second_;
  Trial<Op>*believed_results_ = &first_, *trial_ = &second_;
  AttentionKernel believed_ = AttentionKernel::kMma;
  bool mma_is_right_ = true, can_tell_ = true;
};

}  // namespace

AttentionChoice::AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu,
                                 double compared_from)
    : wanted_(wanted), gpu_(gpu), compared_from_(compared_from) {
  if (wanted == AttentionKernel::kWgmma && gpu.major != 9) {
    fail(
        "cuda: {} has no wgmma instructions (compute capability 9.0); choose another "
        "device.options.attention",
        gpu.name);
  }
  if (wanted == AttentionKernel::kWgmma && !kIsBuiltForWgmma) {
    fail(
        "cuda: this program has no code for sm_90a, which wgmma needs; choose another attention, "
        "or build it with 90a-real among CMAKE_CUDA_ARCHITECTURES");
  }
  if (wanted == AttentionKernel::kCudnn) cudnn_ = std::make_unique<CudnnAttention>(gpu);
}

bool AttentionChoice::has_wgmma(int64_t head_size) const {
  return kIsBuiltForWgmma && gpu_.major == 9 && head_size == 64;
}

template <typename Op>
bool AttentionChoice::cudnn_takes(const Context& context, const Op& op) {
  if (!cudnn_ && !cudnn_is_missing_ && op.dropout.probability == 0.0f &&
      !is_captured(context.stream)) {
    try {
      cudnn_ = std::make_unique<CudnnAttention>(gpu_);
    } catch (const std::exception&) {
      cudnn_is_missing_ = true;
    }
  }
  if (!cudnn_ || !cudnn_->is_for(op)) return false;
  try {
    return cudnn_->prepare(context, op);
  } catch (const Error&) {
    if (wanted_ == AttentionKernel::kCudnn) throw;
    return false;
  }
}

template <typename Op>
AttentionKernel AttentionChoice::choose(const Context& context, const Op& op, bool aligned,
                                        FoundByKind& found) {
  const int64_t head_size = op.context.cols / op.heads;
  if (wanted_ == AttentionKernel::kPlain || !aligned || (head_size != 64 && head_size != 32)) {
    return AttentionKernel::kPlain;
  }
  if (wanted_ == AttentionKernel::kMma) return wanted_;
  if (wanted_ == AttentionKernel::kWgmma) {
    return has_wgmma(head_size) ? wanted_ : AttentionKernel::kMma;
  }
  if (wanted_ == AttentionKernel::kCudnn && cudnn_takes(context, op)) return wanted_;
  std::optional<Found>& known = found[head_size == 64][op.dropout.probability > 0.0f];
  if (flops_of(op) >= compared_from_ && !is_captured(context.stream) &&
      (!known || (!known->cudnn_is_faster && cudnn_takes(context, op)))) {
    if (const std::optional<Found> compared = fastest(context, op)) known = compared;
  }
  if (!known) return AttentionKernel::kMma;
  return known->cudnn_is_faster.value_or(false) && cudnn_takes(context, op)
             ? AttentionKernel::kCudnn
             : known->of_ours;
}

template <typename Op>
std::optional<AttentionChoice::Found> AttentionChoice::fastest(const Context& context,
                                                               const Op& op) {
  const bool has_wgmma_here = has_wgmma(op.context.cols / op.heads);
  const bool has_cudnn_here = cudnn_takes(context, op);
  Found found{.of_ours = AttentionKernel::kMma};
  if (has_cudnn_here) found.cudnn_is_faster = false;
  if (!has_wgmma_here && !has_cudnn_here) return found;
  std::optional<Judge<Op>> judge;
  try {
    judge.emplace(context, op);
  } catch (const Error& error) {
    print_to_stderr("cuda: attention kernels could not be compared ({}); using mma\n",
                    error.what());
    return found;
  }
  judge->believe_mma();
  bool takes_wgmma = has_wgmma_here && judge->is_right(AttentionKernel::kWgmma);
  bool takes_cudnn = false;
  if (has_cudnn_here) {
    try {
      takes_cudnn = judge->is_right(AttentionKernel::kCudnn);
    } catch (const std::exception&) {  // cuDNN failed although it had a plan
    }
  }
  if (!judge->can_tell()) return std::nullopt;
  // wgmma agreed with mma, which turned out to be wrong.
  if (takes_wgmma && !judge->mma_is_right()) takes_wgmma = judge->is_right(AttentionKernel::kWgmma);

  const auto time = [&](AttentionKernel kernel) {
    run(kernel, context, judge->trial());
    return milliseconds(context.stream, [&] { run(kernel, context, judge->trial()); });
  };
  float ours = std::numeric_limits<float>::infinity();
  found.of_ours = AttentionKernel::kPlain;
  if (judge->mma_is_right()) {
    ours = time(AttentionKernel::kMma);
    found.of_ours = AttentionKernel::kMma;
  }
  if (takes_wgmma) {
    const float of_wgmma = time(AttentionKernel::kWgmma);
    if (ours >= kClearly * of_wgmma) {
      found.of_ours = AttentionKernel::kWgmma;
      ours = of_wgmma;
    }
  }
  if (takes_cudnn) found.cudnn_is_faster = time(AttentionKernel::kCudnn) < kClearly * ours;
  return found;
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionForward& op) {
  return choose(context, op,
                rows_are_aligned(op.context.cols / op.heads, 8, op.qkv.data, op.context.data),
                forward_);
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionBackward& op) {
  return choose(context, op,
                rows_are_aligned(op.context.cols / op.heads, 8, op.qkv.data, op.context.data,
                                 op.d_context.data, op.d_qkv.data),
                backward_);
}

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel != AttentionKernel::kPlain) return run(kernel, context, op);
  }
  plain_attention_forward<T>(context, op);
  write_float8_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel != AttentionKernel::kPlain) return run(kernel, context, op);
  }
  AttentionBackward placed = op;
  placed.d_qkv = place_of_output(context, op.d_qkv, 1);
  plain_attention_backward<T>(context, placed);
  write_float8_copy<T>(context, placed.d_qkv, op.d_qkv_float8);
}

STRATA_INSTANTIATE(attention_forward, AttentionForward);
STRATA_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace strata::device::cuda
