#include "device/cuda/graph.h"

namespace strata::device::cuda {

Graph::Graph(cudaStream_t stream, const std::function<void()>& issue) {
  // Other threads, NCCL's among them, go on with what they do.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a graph");
  cudaGraph_t captured = nullptr;
  try {
    issue();
  } catch (...) {
    cudaStreamEndCapture(stream, &captured);
    if (captured) cudaGraphDestroy(captured);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "ending a graph");
  const cudaError_t status = cudaGraphInstantiate(&graph_, captured, 0);
  cudaGraphDestroy(captured);
  check(status, "preparing a graph");
}

Graph::~Graph() { cudaGraphExecDestroy(graph_); }

void Graph::launch(cudaStream_t stream) {
  check(cudaGraphLaunch(graph_, stream), "starting a graph");
}

}  // namespace strata::device::cuda
