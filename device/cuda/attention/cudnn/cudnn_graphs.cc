#include "device/cuda/attention/cudnn/cudnn_graphs.h"

#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <cmath>
#include <exception>

#include "base/error.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace strata::device::cuda {
namespace {

namespace fe = cudnn_frontend;
using CudnnGraph = fe::graph::Graph;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Tensors = fe::graph::Tensor_attributes;

constexpr int kLibrary = 9;
// The first version known to clear backward's workspace on compute capability 9.0, and to accept
// packed sequences on 8.0.
constexpr size_t kOldest = 91801;
// In earlier versions, sequences without tokens may produce NaN in others (NVIDIA/cudnn-frontend,
// issues 943 and 944).
constexpr size_t kOldestForEmptySequences = 92500;
// Longer sequences need more memory for their gradients than the speedup is worth.
constexpr int64_t kMostWorkspaceBytes = int64_t{2} << 30;

// A graph's tensors and common attributes.
class Description {
 public:
  Description(CudnnGraph& graph, const CudnnShape& shape)
      : graph_(graph),
        shape_(shape),
        lengths_(numbers(kLengths, shape.sequences)),
        qkv_offsets_(numbers(kQkvOffsets, shape.sequences + 1)),
        context_offsets_(numbers(kContextOffsets, shape.sequences + 1)),
        statistics_offsets_(numbers(kStatisticsOffsets, shape.sequences + 1)) {
    graph.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  Tensor qkv(CudnnTensor number) { return graph_.tensor(part_of_qkv(Tensors().set_uid(number))); }
  Tensor context(CudnnTensor number) {
    return graph_.tensor(as_context(Tensors().set_uid(number)));
  }
  Tensor statistics() { return graph_.tensor(as_statistics(Tensors().set_uid(kStatistics))); }
  void is_qkv(const Tensor& output, CudnnTensor number) {
    part_of_qkv(output->set_output(true).set_uid(number));
  }
  void is_context(const Tensor& output) { as_context(output->set_output(true).set_uid(kContext)); }
  void is_statistics(const Tensor& output) {
    as_statistics(output->set_output(true).set_uid(kStatistics));
  }

  // Attributes that forward and backward share.
  template <typename Attributes>
  Attributes attributes() const {
    Attributes attributes;
    attributes.set_name("attention")
        .set_attn_scale(1.0f / std::sqrt(static_cast<float>(shape_.head_size)))
        .set_padding_mask(true)
        .set_seq_len_q(lengths_)
        .set_seq_len_kv(lengths_);
    return attributes;
  }

 private:
  Tensor numbers(CudnnTensor number, int64_t count) {
    return graph_.tensor(Tensors()
                             .set_uid(number)
                             .set_dim({count, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(fe::DataType_t::INT32));
  }
  Tensors& part_of_qkv(Tensors& tensor) const {
    return rows(tensor, 3).set_ragged_offset(qkv_offsets_);
  }
  Tensors& as_context(Tensors& tensor) const {
    return rows(tensor, 1).set_ragged_offset(context_offsets_);
  }
  // [B, heads, S, head size], in rows of all heads, `parts` times.
  Tensors& rows(Tensors& tensor, int64_t parts) const {
    const int64_t row = parts * shape_.heads * shape_.head_size;
    return tensor.set_dim({shape_.sequences, shape_.heads, shape_.max_length, shape_.head_size})
        .set_stride({shape_.max_length * row, shape_.head_size, row, 1});
  }
  Tensors& as_statistics(Tensors& tensor) const {
    return tensor.set_dim({shape_.sequences, shape_.heads, shape_.max_length, 1})
        .set_stride({shape_.max_length * shape_.heads, 1, shape_.heads, 1})
        .set_data_type(fe::DataType_t::FLOAT)
        .set_ragged_offset(statistics_offsets_);
  }

  CudnnGraph& graph_;
  const CudnnShape& shape_;
  Tensor lengths_, qkv_offsets_, context_offsets_, statistics_offsets_;
};

// cuDNN's message lists every kernel that it tried.
std::string first_lines(const std::string& message) {
  constexpr size_t kMost = 400;
  return message.size() <= kMost ? message : message.substr(0, kMost) + " ...";
}

void check(fe::error_t status, const char* attempt) {
  if (status.is_bad()) fail("cuda: cuDNN: {}: {}", attempt, first_lines(status.get_message()));
}

// The frontend throws other exceptions if a library lacks a symbol.
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

// Describes attention without dropout, bf16.
void describe_forward(CudnnGraph& graph, const CudnnShape& shape) {
  Description is(graph, shape);
  auto attributes = is.attributes<fe::graph::SDPA_attributes>();
  attributes.set_generate_stats(true);
  const auto [context, statistics] =
      graph.sdpa(is.qkv(kQuery), is.qkv(kKey), is.qkv(kValue), attributes);
  is.is_context(context);
  is.is_statistics(statistics);
}

// Describes its gradients, with the same bits every time.
void describe_backward(CudnnGraph& graph, const CudnnShape& shape) {
  Description is(graph, shape);
  auto attributes = is.attributes<fe::graph::SDPA_backward_attributes>();
  attributes.set_deterministic_algorithm(true);
  // Upper limits of the rows with partial sums.
  attributes.set_max_total_seq_len_q(shape.sequences * shape.max_length)
      .set_max_total_seq_len_kv(shape.sequences * shape.max_length);
  const auto [d_query, d_key, d_value] =
      graph.sdpa_backward(is.qkv(kQuery), is.qkv(kKey), is.qkv(kValue), is.context(kContext),
                          is.context(kDContext), is.statistics(), attributes);
  is.is_qkv(d_query, kDQuery);
  is.is_qkv(d_key, kDKey);
  is.is_qkv(d_value, kDValue);
}

void describe(CudnnGraph& graph, CudnnPass pass, const CudnnShape& shape) {
  pass == CudnnPass::kForward ? describe_forward(graph, shape) : describe_backward(graph, shape);
}

// Finds plans for a described graph. `handle` is null if the graph names a GPU that need not be
// present.
void find_plans(CudnnGraph& graph, cudnnHandle_t handle) {
  check(graph.validate(), "describing attention");
  check(handle ? graph.build_operation_graph(handle) : graph.build_operation_graph(),
        "describing attention");
  check(graph.create_execution_plans({fe::HeurMode_t::A}), "looking for kernels of attention");
  graph.deselect_workspace_greater_than(kMostWorkspaceBytes);
  check(graph.check_support(), "looking for kernels of attention");
}

}  // namespace

void load_cudnn() {
  static const std::string problem = []() -> std::string {
    const std::string name = fmt::format("libcudnn.so.{}", kLibrary);
    fe::cudnn_dlhandle = dlopen(name.c_str(), RTLD_NOW);
    if (!fe::cudnn_dlhandle) return fmt::format("{} could not be loaded: {}", name, dlerror());
    const size_t version = fe::detail::get_backend_version();
    if (version >= kOldest) return "";
    return fmt::format("{} is version {}, but {} or newer is needed", name, version, kOldest);
  }();
  if (!problem.empty()) fail("cuda: {}", problem);
}

bool takes_empty_sequences() {
  return fe::detail::get_backend_version() >= kOldestForEmptySequences;
}

CudnnHandle::CudnnHandle(const std::string& gpu_name) {
  with_errors([&] {
    if (fe::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS) {
      fail("cuda: cuDNN could not be started on {}", gpu_name);
    }
  });
}

CudnnHandle::~CudnnHandle() { fe::detail::destroy_handle(handle_); }

void CudnnHandle::set_stream(cudaStream_t stream) {
  with_errors([&] {
    if (fe::detail::set_stream(handle_, stream) != CUDNN_STATUS_SUCCESS) {
      fail("cuda: cuDNN does not accept a stream");
    }
  });
}

struct CudnnPlan::Graph : CudnnGraph {};

CudnnPlan::CudnnPlan(const CudnnHandle& handle, int sm_version, CudnnPass pass,
                     const CudnnShape& shape)
    : graph_(std::make_unique<Graph>()) {
  with_errors([&] {
    graph_->set_sm_version(sm_version);
    // Plans must outlive graphs that recorded them.
    graph_->set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
    describe(*graph_, pass, shape);
    find_plans(*graph_, handle.get());
    check(graph_->build_plans(), "preparing attention");
    check(graph_->get_workspace_size(workspace_bytes_), "asking for attention's workspace");
  });
}

CudnnPlan::~CudnnPlan() = default;

void CudnnPlan::execute(const CudnnHandle& handle, CudnnMemory& memory, void* workspace) {
  with_errors([&] { check(graph_->execute(handle.get(), memory, workspace), "attention"); });
}

int64_t count_cudnn_plans(const std::string& properties, int sm_version, CudnnPass pass,
                          const CudnnShape& shape) {
  int64_t plans = 0;
  with_errors([&] {
    auto gpu = std::make_shared<fe::DeviceProperties>();
    check(gpu->deserialize({properties.begin(), properties.end()}), "reading a GPU's properties");
    CudnnGraph graph;
    graph.set_device_properties(gpu).set_sm_version(sm_version);
    describe(graph, pass, shape);
    find_plans(graph, nullptr);
    plans = graph.get_execution_plan_count();
  });
  return plans;
}

}  // namespace strata::device::cuda
