#include "device/cuda/host/graph.h"

#include <utility>

#include "device/memory/buffer.h"

namespace strata::device::cuda {

CudaGraph::~CudaGraph() {
  for (const Part& part : parts_) {
    if (part.captured) cudaGraphDestroy(part.captured);
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
  instantiate();
}

void CudaGraph::outside_capture(const std::function<void()>& call) {
  end_graph();
  parts_.push_back({.call = call});
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
  // Thread-local, so that other threads are not affected.
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
}

void CudaGraph::end_graph() {
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream_, &captured), "ending a graph");
  parts_.push_back({.captured = captured});
}

void CudaGraph::instantiate() {
  for (Part& part : parts_) {
    if (!part.captured) continue;
    cudaError_t status = cudaGraphInstantiate(&part.graph, part.captured, 0);
    cudaGraphDestroy(std::exchange(part.captured, nullptr));
    if (status == cudaSuccess) status = cudaGraphUpload(part.graph, stream_);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfDeviceMemory("cuda: preparing a graph failed: no GPU memory is left");
    }
    check(status, "preparing a graph");
  }
}

}  // namespace strata::device::cuda
