// Fused attention over packed sequences, as graphs that cuDNN makes plans for. Only the source file
// includes cuDNN's frontend, which takes long to compile.
#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

struct cudnnContext;

namespace strata::device::cuda {

// The shape that determines the plan.
struct CudnnShape {
  int64_t sequences = 0;   // B
  int64_t max_length = 0;  // at least the length of the longest sequence
  int64_t heads = 0;
  int64_t head_size = 0;

  auto operator<=>(const CudnnShape&) const = default;
};

// Tensors of a graph, with the ids that execution assigns memory to. Query, key and value, and
// their gradients, lie side by side in rows of 3H elements.
enum CudnnTensor : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kContext,         // rows of H
  kStatistics,      // f32, rows of `heads`
  kLengths,         // int32 [B], lengths of the sequences
  kQkvOffsets,      // int32 [B + 1], elements before each sequence in rows of 3H
  kContextOffsets,  // the same in rows of H
  kStatisticsOffsets,
  kDContext,
  kDQuery,
  kDKey,
  kDValue,
};
using CudnnMemory = std::unordered_map<int64_t, void*>;

// Attention without dropout in bf16, or its gradients with the same bits every time.
enum class CudnnPass { kForward, kBackward };

// Loads libcudnn, whose functions the frontend calls. Throws Error if it is missing or too old.
void load_cudnn();
// True if the loaded version supports sequences without tokens.
bool takes_empty_sequences();

// A connection to cuDNN on the current GPU. Throws Error if cuDNN fails.
class CudnnHandle {
 public:
  explicit CudnnHandle(const std::string& gpu_name);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  void set_stream(cudaStream_t stream);
  cudnnContext* get() const { return handle_; }

 private:
  cudnnContext* handle_ = nullptr;
};

// cuDNN's fastest plan for a pass. Throws Error if there is none, or if it fails.
class CudnnPlan {
 public:
  // `sm_version` is 10 times the compute capability.
  CudnnPlan(const CudnnHandle& handle, int sm_version, CudnnPass pass, const CudnnShape& shape);
  ~CudnnPlan();

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Issues the pass on the handle's stream.
  void execute(const CudnnHandle& handle, CudnnMemory& memory, void* workspace);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
  int64_t workspace_bytes_ = 0;
};

// Returns how many plans cuDNN offers on a GPU that need not be present. `properties` describes it
// in cuDNN's JSON format. Throws Error if there is none.
int64_t count_cudnn_plans(const std::string& properties, int sm_version, CudnnPass pass,
                          const CudnnShape& shape);

}  // namespace strata::device::cuda
