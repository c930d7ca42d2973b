// For builds that found no cuDNN.
#include "base/error.h"
#include "device/cuda/cudnn_attention.h"

namespace strata::device::cuda {

struct CudnnAttention::State {};

CudnnAttention::CudnnAttention(const cudaDeviceProp&) {
  fail(
      "cuda: this program was built without cuDNN: CMake found no cudnn.h or no cudnn_frontend.h "
      "(package nvidia-cudnn-frontend on PyPI); choose another attention");
}
CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::takes(const Context&, const AttentionForward&) { return false; }
bool CudnnAttention::takes(const Context&, const AttentionBackward&) { return false; }
void CudnnAttention::forward(const Context&, const AttentionForward&) {}
void CudnnAttention::backward(const Context&, const AttentionBackward&) {}

}  // namespace strata::device::cuda
