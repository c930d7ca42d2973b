// CUDA graphs: recorded work of a stream, launched again as a whole.
#pragma once

#include <functional>
#include <vector>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// A sequence of graphs, and of host calls between them.
class CudaGraph {
 public:
  explicit CudaGraph(cudaStream_t stream) : stream_(stream) {}
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Captures the work that `issue` gives the stream, and streams that wait for it; none of it runs.
  // Then allocates the graphs' memory on the GPU, so that their first launch is as fast as later
  // ones. Throws OutOfDeviceMemory after `issue` has returned if there is too little. Throws Error
  // if some of the work cannot be part of a graph. May be called once.
  void capture(const std::function<void()>& issue);
  // During `issue`: ends the current graph, inserts `call`, and continues in another graph.
  void outside_capture(const std::function<void()>& call);

  void launch() const;

 private:
  void begin_graph();
  void end_graph();
  void instantiate();

  // Either a graph or a call.
  struct Part {
    cudaGraph_t captured = nullptr;  // null after it is instantiated
    cudaGraphExec_t graph = nullptr;
    std::function<void()> call;
  };
  cudaStream_t stream_;
  std::vector<Part> parts_;
};

}  // namespace strata::device::cuda
