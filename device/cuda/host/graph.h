// CUDA graphs: work that a stream was given once, to be launched again as a whole.
#pragma once

#include <functional>
#include <vector>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Graphs, and calls of the host between them.
class CudaGraph {
 public:
  explicit CudaGraph(cudaStream_t stream) : stream_(stream) {}
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Captures what `issue` gives the stream, and the streams that it makes wait for it; none of it
  // runs. Then takes the memory that the graphs need on the GPU, so that their first launch is as
  // fast as later ones. Throws OutOfDeviceMemory if there is too little, after `issue` has
  // returned; throws Error if something in it cannot be part of a graph. Once.
  void capture(const std::function<void()>& issue);
  // While `issue` runs: goes on in another graph after `call`.
  void outside_capture(const std::function<void()>& call);

  void launch() const;

 private:
  void begin_graph();
  void end_graph();
  void instantiate();

  // Either a graph or a call.
  struct Part {
    cudaGraph_t captured = nullptr;  // until it is instantiated
    cudaGraphExec_t graph = nullptr;
    std::function<void()> call;
  };
  cudaStream_t stream_;
  std::vector<Part> parts_;
};

}  // namespace strata::device::cuda
