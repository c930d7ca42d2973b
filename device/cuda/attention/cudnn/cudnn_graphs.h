// Graphs that describe fused attention over packed sequences to cuDNN.
#pragma once

#include <cudnn_frontend.h>

#include <compare>
#include <cstdint>

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

using CudnnGraph = cudnn_frontend::graph::Graph;

// Loads libcudnn, whose functions the frontend calls. Throws Error if it is missing or too old.
void load_cudnn();
// True if the loaded version supports sequences without tokens.
bool takes_empty_sequences();

// Describes attention without dropout, bf16.
void describe_forward(CudnnGraph& graph, const CudnnShape& shape);
// Describes its gradients, with the same bits every time.
void describe_backward(CudnnGraph& graph, const CudnnShape& shape);

// Finds cuDNN's plans for a described graph. `handle` may be null for a graph with the properties
// of a GPU that need not be present. Throws Error if there is no plan.
void find_plans(CudnnGraph& graph, cudnnHandle_t handle);

// Throws Error if `attempt` failed.
void check(cudnn_frontend::error_t status, const char* attempt);

}  // namespace strata::device::cuda
