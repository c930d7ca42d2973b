#include "device/cuda/attention/cudnn/cudnn_attention.h"

#include <exception>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "device/cuda/attention/cudnn/cudnn_graphs.h"
#include "device/cuda/attention/cudnn/cudnn_workspace.h"
#include "device/cuda/attention/packed_offsets.h"
#include "device/cuda/runtime/autotune.h"

namespace strata::device::cuda {
namespace {

namespace fe = cudnn_frontend;

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

// The frontend also throws if a library lacks a symbol.
template <typename Body>
void with_errors(const Body& body) {
  try {
    body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail("cuda: cuDNN: {}", error.what());
  }
}

}  // namespace

struct CudnnAttention::State {
  // A kind of graph by shape: its plan, or the reason why there is none.
  struct Plan {
    std::unique_ptr<CudnnGraph> graph;  // null if there is no plan
    std::string problem;
    int64_t workspace_bytes = 0;
  };
  using Plans = std::map<CudnnShape, Plan>;
  using Describe = void (*)(CudnnGraph&, const CudnnShape&);
  using Memory = std::unordered_map<int64_t, void*>;

  bool prepare(const Context& context, const CudnnShape& shape, Plans& plans, Describe describe);
  template <typename Op>
  void run(const Context& context, const Op& op, const Plans& plans, Memory memory);

  int sm_version = 0;
  cudnnHandle_t handle = nullptr;
  Plans forward, backward;
  CudnnWorkspace workspace;
};

CudnnAttention::CudnnAttention(const cudaDeviceProp& gpu) : state_(std::make_unique<State>()) {
  load_cudnn();
  state_->sm_version = 10 * gpu.major + gpu.minor;
  with_errors([&] {
    if (fe::detail::create_handle(&state_->handle) != CUDNN_STATUS_SUCCESS) {
      fail("cuda: cuDNN could not be started on {}", gpu.name);
    }
  });
}

CudnnAttention::~CudnnAttention() {
  state_->forward.clear();
  state_->backward.clear();
  if (state_->handle) fe::detail::destroy_handle(state_->handle);
}

bool CudnnAttention::State::prepare(const Context& context, const CudnnShape& shape, Plans& plans,
                                    Describe describe) {
  auto known = plans.find(shape);
  if (known == plans.end()) {
    if (is_captured(context.stream))
      fail("cuda: cuDNN: a plan cannot be made while a graph is captured");
    known = plans.emplace(shape, Plan{}).first;
    try {
      auto graph = std::make_unique<CudnnGraph>();
      graph->set_sm_version(sm_version);
      // Plans must outlive graphs that recorded them.
      graph->set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
      describe(*graph, shape);
      find_plans(*graph, handle);
      check(graph->build_plans(), "preparing attention");
      check(graph->get_workspace_size(known->second.workspace_bytes),
            "asking for attention's workspace");
      known->second.graph = std::move(graph);
    } catch (const std::exception& error) {
      known->second.problem = error.what();
    }
  }
  if (!known->second.graph) fail("{}", known->second.problem);
  return workspace.reserve(context, known->second.workspace_bytes);
}

template <typename Op>
void CudnnAttention::State::run(const Context& context, const Op& op, const Plans& plans,
                                Memory memory) {
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

  const Plan& plan = plans.at(shape_of(op));
  void* place = context.scratch[1].get<char>(plan.workspace_bytes);
  with_errors([&] {
    if (fe::detail::set_stream(handle, context.stream) != CUDNN_STATUS_SUCCESS) {
      fail("cuda: cuDNN does not accept a stream");
    }
    check(plan.graph->execute(handle, memory, place), "attention");
  });
}

bool CudnnAttention::is_for(const AttentionForward& op) const { return is_for_cudnn(op); }
bool CudnnAttention::is_for(const AttentionBackward& op) const { return is_for_cudnn(op); }

bool CudnnAttention::prepare(const Context& context, const AttentionForward& op) {
  return state_->prepare(context, shape_of(op), state_->forward, describe_forward);
}

bool CudnnAttention::prepare(const Context& context, const AttentionBackward& op) {
  return state_->prepare(context, shape_of(op), state_->backward, describe_backward);
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
