#include "device/cuda/cudnn_attention.h"

#include <limits>
#include <map>

#include "base/error.h"
#include "device/cuda/cudnn_graphs.h"
#include "device/cuda/packed_offsets.h"
#include "device/cuda/trial.h"

namespace strata::device::cuda {
namespace {

namespace fe = cudnn_frontend;

// Every multiple of this has plans of its own, which take long to make; what lies beyond a sequence
// takes little time.
constexpr int64_t kLengthStep = 512;

template <typename Op>
CudnnShape shape_of(const Op& op) {
  return {.sequences = op.sequences.count,
          .max_length = (op.sequences.max_length + kLengthStep - 1) / kLengthStep * kLengthStep,
          .heads = op.heads,
          .head_size = op.context.cols / op.heads};
}

bool has_float8_copy(const AttentionForward& op) { return bool{op.context_float8}; }
bool has_float8_copy(const AttentionBackward& op) { return bool{op.d_qkv_float8}; }

// cuDNN's memory is neither typed nor const.
void* pointer_of(const ConstTensor& tensor) { return const_cast<void*>(tensor.data); }

}  // namespace

struct CudnnAttention::State {
  // What a kind of graph is computed with, by shape; null: by nothing.
  using Plans = std::map<CudnnShape, std::unique_ptr<CudnnGraph>>;
  using Memory = std::unordered_map<int64_t, void*>;

  template <typename Op>
  bool takes(const Context& context, const Op& op, Plans& plans,
             void (*describe)(CudnnGraph&, const CudnnShape&));
  std::unique_ptr<CudnnGraph> plan(const CudnnShape& shape,
                                   void (*describe)(CudnnGraph&, const CudnnShape&)) const;
  template <typename Op>
  void run(const Context& context, const Op& op, const Plans& plans, Memory memory);

  int sm_version = 0;
  cudnnHandle_t handle = nullptr;
  Plans forward, backward;
};

CudnnAttention::CudnnAttention(const cudaDeviceProp& gpu) : state_(std::make_unique<State>()) {
  load_cudnn();
  state_->sm_version = 10 * gpu.major + gpu.minor;
  if (fe::detail::create_handle(&state_->handle) != CUDNN_STATUS_SUCCESS) {
    fail("cuda: cuDNN could not be started on {}", gpu.name);
  }
}

CudnnAttention::~CudnnAttention() {
  state_->forward.clear();
  state_->backward.clear();
  fe::detail::destroy_handle(state_->handle);
}

template <typename Op>
bool CudnnAttention::State::takes(const Context& context, const Op& op, Plans& plans,
                                  void (*describe)(CudnnGraph&, const CudnnShape&)) {
  if (op.dropout.probability > 0.0f || has_float8_copy(op) ||
      op.qkv.size() > std::numeric_limits<int32_t>::max()) {
    return false;
  }
  const CudnnShape shape = shape_of(op);
  auto known = plans.find(shape);
  if (known == plans.end()) {
    if (is_captured(context.stream)) return false;
    known = plans.emplace(shape, plan(shape, describe)).first;
  }
  return known->second != nullptr;
}

std::unique_ptr<CudnnGraph> CudnnAttention::State::plan(const CudnnShape& shape,
                                                        void (*describe)(CudnnGraph&,
                                                                         const CudnnShape&)) const {
  try {
    auto graph = std::make_unique<CudnnGraph>();
    graph->set_sm_version(sm_version);
    describe(*graph, shape);
    find_plans(*graph, handle);
    check(graph->build_plans(), "preparing attention");
    return graph;
  } catch (const std::exception&) {
    return nullptr;
  }
}

template <typename Op>
void CudnnAttention::State::run(const Context& context, const Op& op, const Plans& plans,
                                Memory memory) {
  const int64_t sequences = op.sequences.count, hidden = op.context.cols;
  // Apart by more than the alignment that cuDNN counts on.
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

  CudnnGraph& graph = *plans.at(shape_of(op));
  int64_t bytes = 0;
  check(graph.get_workspace_size(bytes), "asking for attention's workspace");
  void* workspace = context.scratch[1].get<char>(bytes);
  if (fe::detail::set_stream(handle, context.stream) != CUDNN_STATUS_SUCCESS) {
    fail("cuda: cuDNN does not take a stream");
  }
  check(graph.execute(handle, memory, workspace), "attention");
}

bool CudnnAttention::takes(const Context& context, const AttentionForward& op) {
  return state_->takes(context, op, state_->forward, describe_forward);
}

bool CudnnAttention::takes(const Context& context, const AttentionBackward& op) {
  return state_->takes(context, op, state_->backward, describe_backward);
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
