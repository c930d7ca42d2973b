// CUDA graphs: work that a stream was given once, to be started again as a whole.
#pragma once

#include <functional>

#include "device/cuda/runtime.h"

namespace strata::device::cuda {

class Graph {
 public:
  // What `issue` gives `stream`, and the streams that it makes wait for it; none of it runs. Throws
  // Error where something in it cannot be part of a graph.
  Graph(cudaStream_t stream, const std::function<void()>& issue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cudaStream_t stream);

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace strata::device::cuda
