// Settings of the stand-in for cuDNN.
#pragma once

namespace emulated_cuda {

// Makes the stand-in drop half of all probabilities without being asked.
inline bool cudnn_is_wrong = false;

}  // namespace emulated_cuda
