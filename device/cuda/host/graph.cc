#include "device/cuda/host/graph.h"

namespace strata::device::cuda {

CudaGraph::~CudaGraph() {
  for (const Part& part : parts_) {
    if (part.graph) cudaGraphExecDestroy(part.graph);
  }
}

void CudaGraph::capture(const std::function<void()>& issue) {
  begin_graph();
  try {
    issue();
  } catch (...) {
    cudaGraph_t captured = nullptr;
    cudaStreamEndCapture(stream_, &captured);
    if (captured) cudaGraphDestroy(captured);
    cudaGetLastError();
    throw;
  }
  end_graph();
}

void CudaGraph::outside_capture(const std::function<void()>& call) {
  end_graph();
  parts_.push_back({nullptr, call});
  begin_graph();
}

void CudaGraph::launch() const {
  for (const Part& part : parts_) {
    if (part.graph) {
      check(cudaGraphLaunch(part.graph, stream_), "starting a graph");
    } else {
      part.call();
    }
  }
}

void CudaGraph::begin_graph() {
  // Other threads go on with what they do.
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
}

void CudaGraph::end_graph() {
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream_, &captured), "ending a graph");
  cudaGraphExec_t graph = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&graph, captured, 0);
  cudaGraphDestroy(captured);
  check(status, "preparing a graph");
  parts_.push_back({graph, {}});
}

}  // namespace strata::device::cuda
