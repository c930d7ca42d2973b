// Marks functions that run on the host and on GPUs.
#pragma once

#ifdef __CUDACC__
#define STRATA_HOST_DEVICE __host__ __device__
#define STRATA_ALWAYS_INLINE __forceinline__
#else
#define STRATA_HOST_DEVICE
// Sources are compiled once per instruction set, so the linker must not merge copies of a function.
#define STRATA_ALWAYS_INLINE inline __attribute__((always_inline))
#endif
