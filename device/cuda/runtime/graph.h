// CUDA graphs: work that a stream was given once, to be started again as a whole.
#pragma once

#include <functional>
#include <vector>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Graphs, and calls of the host between them.
class KeptWork {
 public:
  explicit KeptWork(cudaStream_t stream) : stream_(stream) {}
  ~KeptWork();
  KeptWork(const KeptWork&) = delete;
  KeptWork& operator=(const KeptWork&) = delete;

  // Keeps what `issue` gives the stream, and the streams that it makes wait for it; none of it
  // runs. Throws Error where something in it cannot be part of a graph. Once.
  void keep(const std::function<void()>& issue);
  // While `issue` runs: goes on in another graph after `call`.
  void each_time(const std::function<void()>& call);

  void replay() const;

 private:
  void begin_graph();
  void end_graph();

  struct Part {
    cudaGraphExec_t graph = nullptr;  // or
    std::function<void()> call;
  };
  cudaStream_t stream_;
  std::vector<Part> parts_;
};

}  // namespace strata::device::cuda
