// Counts memory accesses by warps of emulated kernels: wavefronts in shared memory, sectors in
// device memory. Covers sources that are compiled with -fsanitize=thread at -O0, with our own
// hooks. An access in the source counts as one instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulated_cuda {

// Accesses of warps.
struct AccessCounts {
  int64_t requests = 0;
  // Shared memory transfers 32 words of 4 bytes in different banks at a time, for 32 threads with 4
  // bytes each, 16 with 8, or 8 with 16. `parts` is the number without bank conflicts.
  int64_t wavefronts = 0, parts = 0;
  // Device memory is read in sectors of 32 bytes. `fewest` is the number if the bytes were
  // contiguous.
  int64_t sectors = 0, fewest = 0;
};

// Counts by name: "shared 16" for 16 bytes per thread of shared memory, the name of a range of
// device memory, or "scratch 16" for an unnamed range.
using CountsByMemory = std::map<std::string, AccessCounts>;

// Counts launches between the two calls; returns one element per launch.
void begin_counting();
std::vector<CountsByMemory> end_counting();

// Names device memory from `begin`.
void name_memory(const void* begin, size_t bytes, const std::string& name);

}  // namespace emulated_cuda
