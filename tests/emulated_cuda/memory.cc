// Device memory. Large allocations are workspaces that are mostly unused: they map the same bytes
// of a file repeatedly until they are written to.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>

namespace emulated_cuda {

namespace {

constexpr size_t kPattern = 2 << 20, kLarge = 16 << 20;

int pattern_file() {
  static const int file = [] {
    const int descriptor = memfd_create("nothing of use", MFD_CLOEXEC);
    const std::string pattern(kPattern, '\xff');
    require(write(descriptor, pattern.data(), kPattern) == static_cast<ssize_t>(kPattern),
            "a file in memory");
    return descriptor;
  }();
  return file;
}

std::mutex mutex;
std::map<void*, size_t> large;  // sizes of mapped allocations

void* map(size_t size) {
  char* memory = static_cast<char*>(
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return nullptr;
  for (size_t at = 0; at < size; at += kPattern) {
    require(mmap(memory + at, kPattern, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                 pattern_file(), 0) != MAP_FAILED,
            "memory to be mapped");
  }
  const std::lock_guard lock(mutex);
  large[memory] = size;
  return memory;
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes >= kLarge) return map((bytes + kPattern - 1) / kPattern * kPattern);
  const size_t size = (bytes + 255) / 256 * 256;
  void* memory = std::aligned_alloc(256, size);
  if (memory) std::memset(memory, 0xff, size);
  return memory;
}

void release(void* memory) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = large.find(memory); found != large.end()) {
      munmap(memory, found->second);
      large.erase(found);
      return;
    }
  }
  std::free(memory);
}

}  // namespace emulated_cuda
