// For builds without cuDNN.
#include "base/error.h"
#include "device/cuda/attention/cudnn/cudnn_attention.h"

namespace strata::device::cuda {

struct CudnnAttention::State {};

CudnnAttention::CudnnAttention(const cudaDeviceProp&) {
  fail(
      "cuda: this program was built without cuDNN: CMake found no cudnn.h or no cudnn_frontend.h "
      "(package nvidia-cudnn-frontend on PyPI); choose another device.options.attention");
}
CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::is_for(const AttentionForward&) const { return false; }
bool CudnnAttention::is_for(const AttentionBackward&) const { return false; }
bool CudnnAttention::prepare(const Context&, const AttentionForward&) { return false; }
bool CudnnAttention::prepare(const Context&, const AttentionBackward&) { return false; }
void CudnnAttention::forward(const Context&, const AttentionForward&) {}
void CudnnAttention::backward(const Context&, const AttentionBackward&) {}

}  // namespace strata::device::cuda
