#include "device/cuda/runtime/profiler_range.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace strata::device::cuda {

ProfilerRange::ProfilerRange(const char* name) { nvtxRangePushA(name); }

ProfilerRange::~ProfilerRange() { nvtxRangePop(); }

}  // namespace strata::device::cuda

#else

namespace strata::device::cuda {

ProfilerRange::ProfilerRange(const char*) {}

ProfilerRange::~ProfilerRange() = default;

}  // namespace strata::device::cuda

#endif
