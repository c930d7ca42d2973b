// How the warps of emulated kernels reach memory: wavefronts in shared memory, sectors in device
// memory. Counts sources that are compiled with -fsanitize=thread, at -O0, whose hooks are ours: an
// access in the source is taken for an instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulated_cuda {

// Accesses of warps.
struct AccessCounts {
  int64_t requests = 0;
  // Shared memory passes 32 words of 4 bytes in different banks at a time, to 32 threads that want
  // 4 bytes each, 16 that want 8 or 8 that want 16. `parts` would be enough without bank conflicts.
  int64_t wavefronts = 0, parts = 0;
  // Device memory comes in sectors of 32 bytes. `fewest` would hold the same bytes side by side.
  int64_t sectors = 0, fewest = 0;
};

// Counts by name: "shared 16" for 16 bytes a thread of shared memory, the name of a range of
// device memory, or "scratch 16" where it has none.
using CountsByMemory = std::map<std::string, AccessCounts>;

// Counts what is launched in between; one element a launch.
void begin_counting();
std::vector<CountsByMemory> end_counting();

// Names device memory from `begin` on.
void name_memory(const void* begin, size_t bytes, const std::string& name);

}  // namespace emulated_cuda
