// cuDNN's fused attention over packed sequences, as it is described to cuDNN.
#pragma once

#include <cudnn_frontend.h>

#include <compare>
#include <cstdint>

namespace strata::device::cuda {

// What decides which plan runs.
struct CudnnShape {
  int64_t sequences = 0;   // B
  int64_t max_length = 0;  // at least that of the longest sequence
  int64_t heads = 0;
  int64_t head_size = 0;

  auto operator<=>(const CudnnShape&) const = default;
};

// The tensors of a graph, by the numbers that execution takes memory under. Query, key and value,
// and their gradients, lie side by side in rows of 3H elements.
enum CudnnTensor : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kContext,         // rows of H
  kStatistics,      // f32, rows of `heads`
  kLengths,         // int32 [B], of the sequences
  kQkvOffsets,      // int32 [B + 1], elements before each sequence in rows of 3H
  kContextOffsets,  // the same in rows of H
  kStatisticsOffsets,
  kDContext,
  kDQuery,
  kDKey,
  kDValue,
};

using CudnnGraph = cudnn_frontend::graph::Graph;

// Finds libcudnn, whose functions the frontend calls. Throws Error where it is not there or too
// old.
void load_cudnn();
// Whether the one that was loaded computes sequences without tokens.
bool takes_empty_sequences();

// Attention without dropout, bf16.
void describe_forward(CudnnGraph& graph, const CudnnShape& shape);
// Its gradients, with the same bits every time.
void describe_backward(CudnnGraph& graph, const CudnnShape& shape);

// Asks for what cuDNN can compute a described graph with; `handle` may be null for a graph that was
// given the properties of a GPU that need not be there. Throws Error where there is nothing.
void find_plans(CudnnGraph& graph, cudnnHandle_t handle);

// Throws Error where cuDNN could not do `attempt`.
void check(cudnn_frontend::error_t status, const char* attempt);

}  // namespace strata::device::cuda
