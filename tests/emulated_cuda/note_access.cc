// This file has nothing else, because programs that count accesses replace the function.
#include <cuda_runtime.h>

namespace emulated_cuda {

void note_access(const void*, size_t) {}

}  // namespace emulated_cuda
