// Settings of the stand-in for cuDNN.
#pragma once

namespace emulated_cuda {

// Drops half of all probabilities, which nobody asked for.
inline bool cudnn_is_wrong = false;

}  // namespace emulated_cuda
