#include "device/cuda/attention/cudnn/cudnn_attention.h"

#include <exception>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/cuda/attention/cudnn/cudnn_graphs.h"
#include "device/cuda/attention/cudnn/cudnn_workspace.h"
#include "device/cuda/attention/packed_offsets.h"
#include "device/cuda/runtime/autotune.h"

namespace strata::device::cuda {
namespace {

// Every multiple of this has its own plan. Padding of a sequence takes little time, but backward
// takes memory for it.
constexpr int64_t kForwardStep = 512, kBackwardStep = 128;

template <typename Op>
CudnnShape shape_of(const Op& op, int64_t length_step) {
  return {.sequences = op.sequences.count,
          .max_length = (op.sequences.max_length + length_step - 1) / length_step * length_step,
          .heads = op.heads,
          .head_size = op.context.cols / op.heads};
}
CudnnShape shape_of(const AttentionForward& op) { return shape_of(op, kForwardStep); }
CudnnShape shape_of(const AttentionBackward& op) { return shape_of(op, kBackwardStep); }

bool has_float8_copy(const AttentionForward& op) { return bool{op.context_float8}; }
bool has_float8_copy(const AttentionBackward& op) { return bool{op.d_qkv_float8}; }

template <typename Op>
bool is_for_cudnn(const Op& op) {
  return op.dropout.probability == 0.0f && !has_float8_copy(op) &&
         op.qkv.size() <= std::numeric_limits<int32_t>::max() &&
         (op.sequences.min_length > 0 || takes_empty_sequences());
}

// cuDNN takes untyped, non-const memory.
void* pointer_of(const ConstTensor& tensor) { return const_cast<void*>(tensor.data); }

}  // namespace

struct CudnnAttention::State {
  // A kind of graph by shape: its plan, or the reason why there is none.
  struct Plan {
    std::unique_ptr<CudnnPlan> cudnn;  // null if there is none
    std::string problem;
  };
  using Plans = std::map<CudnnShape, Plan>;

  explicit State(const cudaDeviceProp& gpu)
      : sm_version(10 * gpu.major + gpu.minor), handle(gpu.name) {}
  bool prepare(const Context& context, const CudnnShape& shape, Plans& plans, CudnnPass pass);
  template <typename Op>
  void run(const Context& context, const Op& op, const Plans& plans, CudnnMemory memory);

  int sm_version;
  CudnnHandle handle;
  Plans forward, backward;
  CudnnWorkspace workspace;
};

CudnnAttention::CudnnAttention(const cudaDeviceProp& gpu) {
  load_cudnn();
  state_ = std::make_unique<State>(gpu);
}

CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::State::prepare(const Context& context, const CudnnShape& shape, Plans& plans,
                                    CudnnPass pass) {
  auto known = plans.find(shape);
  if (known == plans.end()) {
    if (is_captured(context.stream))
      fail("cuda: cuDNN: a plan cannot be made while a graph is captured");
    known = plans.emplace(shape, Plan{}).first;
    try {
      known->second.cudnn = std::make_unique<CudnnPlan>(handle, sm_version, pass, shape);
    } catch (const std::exception& error) {
      known->second.problem = error.what();
    }
  }
  if (!known->second.cudnn) fail("{}", known->second.problem);
  return workspace.reserve(context, known->second.cudnn->workspace_bytes());
}

template <typename Op>
void CudnnAttention::State::run(const Context& context, const Op& op, const Plans& plans,
                                CudnnMemory memory) {
  const int64_t sequences = op.sequences.count, hidden = op.context.cols;
  // The distance is a multiple of the alignment that cuDNN assumes.
  const int64_t stride = (sequences + 1 + 63) / 64 * 64;
  auto* numbers = context.scratch[0].get<int32_t>(4 * stride);
  const PackedOffsets offsets{numbers, numbers + stride, numbers + 2 * stride,
                              numbers + 3 * stride};
  write_packed_offsets(context, op.sequences, static_cast<int32_t>(hidden), op.heads, offsets);
  memory[kLengths] = offsets.lengths;
  memory[kQkvOffsets] = offsets.qkv;
  memory[kContextOffsets] = offsets.context;
  memory[kStatisticsOffsets] = offsets.statistics;

  auto* qkv = static_cast<BFloat16*>(pointer_of(op.qkv));
  memory[kQuery] = qkv;
  memory[kKey] = qkv + hidden;
  memory[kValue] = qkv + 2 * hidden;
  memory[kContext] = pointer_of(op.context);
  memory[kStatistics] = pointer_of(op.log_sum_exp);

  CudnnPlan& plan = *plans.at(shape_of(op)).cudnn;
  handle.set_stream(context.stream);
  plan.execute(handle, memory, context.scratch[1].get<char>(plan.workspace_bytes()));
}

bool CudnnAttention::is_for(const AttentionForward& op) const { return is_for_cudnn(op); }
bool CudnnAttention::is_for(const AttentionBackward& op) const { return is_for_cudnn(op); }

bool CudnnAttention::prepare(const Context& context, const AttentionForward& op) {
  return state_->prepare(context, shape_of(op), state_->forward, CudnnPass::kForward);
}

bool CudnnAttention::prepare(const Context& context, const AttentionBackward& op) {
  return state_->prepare(context, shape_of(op), state_->backward, CudnnPass::kBackward);
}

void CudnnAttention::forward(const Context& context, const AttentionForward& op) {
  state_->run(context, op, state_->forward, {});
}

void CudnnAttention::backward(const Context& context, const AttentionBackward& op) {
  const int64_t hidden = op.context.cols;
  auto* d_qkv = static_cast<BFloat16*>(op.d_qkv.data);
  state_->run(context, op, state_->backward,
              {{kDContext, pointer_of(op.d_context)},
               {kDQuery, d_qkv},
               {kDKey, d_qkv + hidden},
               {kDValue, d_qkv + 2 * hidden}});
}

}  // namespace strata::device::cuda
