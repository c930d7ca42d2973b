#include "tests/emulated_cuda/access_counts.h"

#include <cuda_runtime.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace emulated_cuda {
namespace {

constexpr int kWarpSize = 32;
constexpr size_t kDeviceBytes = size_t{4} << 30;

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(uintptr_t address) const { return begin <= address && address < end; }
};

// Range of device memory, which is never released.
Range device_memory;
size_t allocated = 0;

// Accesses of one instruction by the threads of a warp.
struct Request {
  size_t bytes = 0;                                 // per thread
  std::array<uintptr_t, kWarpSize> addresses = {};  // 0: this thread makes no access
};

struct Counting {
  bool counts = false;
  uint64_t launch = 0;
  unsigned block = 0;
  std::vector<std::pair<Range, std::string>> names;
  std::vector<CountsByMemory> launches;
  // Keyed by warp, instruction, and number of times that the thread has executed it; for the
  // running block.
  std::map<std::tuple<unsigned, const void*, int64_t>, Request> requests;
  std::map<std::pair<unsigned, const void*>, int64_t> times;  // by thread and instruction
};
Counting counting;

// Returns this thread's variables, which include shared memory of a GPU.
Range thread_local_memory() {
  static thread_local const Range range = [] {
    Range found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* result) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            if (info->dlpi_phdr[i].p_type != PT_TLS || !info->dlpi_tls_data) continue;
            const auto begin = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
            *static_cast<Range*>(result) = {begin, begin + info->dlpi_phdr[i].p_memsz};
          }
          return 1;  // the program is listed first
        },
        &found);
    return found;
  }();
  return range;
}

bool is_emulation(uintptr_t address) {
  const auto has = [&](const auto& variable) {
    const auto begin = reinterpret_cast<uintptr_t>(&variable);
    return Range{begin, begin + sizeof variable}.has(address);
  };
  return has(threadIdx) || has(blockIdx) || has(blockDim) || has(gridDim) || has(ticks) ||
         has(changes);
}

std::string name_of(uintptr_t address, size_t bytes) {
  if (thread_local_memory().has(address)) return "shared " + std::to_string(bytes);
  for (const auto& [range, name] : counting.names) {
    if (range.has(address)) return name;
  }
  return "scratch " + std::to_string(bytes);
}

// A wavefront transfers one word of 4 bytes from each bank, to all threads that request it.
int64_t wavefronts_of(const Request& request, int first, int last) {
  std::array<std::set<uintptr_t>, 32> words;
  for (int lane = first; lane < last; ++lane) {
    const uintptr_t begin = request.addresses[static_cast<size_t>(lane)];
    if (begin == 0) continue;
    for (uintptr_t word = begin / 4; word <= (begin + request.bytes - 1) / 4; ++word) {
      words[word % 32].insert(word);
    }
  }
  size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return static_cast<int64_t>(most);
}

void count_shared(const Request& request, AccessCounts& counts) {
  const int threads = request.bytes <= 4 ? 32 : request.bytes <= 8 ? 16 : 8;
  for (int first = 0; first < kWarpSize; first += threads) {
    const int64_t wavefronts = wavefronts_of(request, first, first + threads);
    counts.wavefronts += wavefronts;
    counts.parts += wavefronts > 0;
  }
}

void count_device(const Request& request, AccessCounts& counts) {
  std::set<uintptr_t> sectors, bytes;
  for (const uintptr_t begin : request.addresses) {
    if (begin == 0) continue;
    for (uintptr_t byte = begin; byte < begin + request.bytes; ++byte) {
      bytes.insert(byte);
      sectors.insert(byte / 32);
    }
  }
  counts.sectors += static_cast<int64_t>(sectors.size());
  counts.fewest += static_cast<int64_t>((bytes.size() + 31) / 32);
}

void finish_block() {
  for (const auto& [key, request] : counting.requests) {
    const uintptr_t address =
        *std::find_if(request.addresses.begin(), request.addresses.end(), [](auto a) { return a; });
    AccessCounts& counts = counting.launches.back()[name_of(address, request.bytes)];
    ++counts.requests;
    thread_local_memory().has(address) ? count_shared(request, counts)
                                       : count_device(request, counts);
  }
  counting.requests.clear();
  counting.times.clear();
}

void count(const void* memory, size_t bytes, const void* instruction) {
  if (!counting.counts) return;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (!device_memory.has(address) &&
      (!thread_local_memory().has(address) || is_emulation(address))) {
    return;
  }
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (counting.launches.empty() || counting.launch != changes || counting.block != block) {
    finish_block();
    if (counting.launches.empty() || counting.launch != changes) counting.launches.emplace_back();
    counting.launch = changes;
    counting.block = block;
  }
  const int64_t time = counting.times[{threadIdx.x, instruction}]++;
  Request& request = counting.requests[{threadIdx.x / kWarpSize, instruction, time}];
  request.bytes = std::max(request.bytes, bytes);
  request.addresses[threadIdx.x % kWarpSize] = address;
}

}  // namespace

void note_access(const void* memory, size_t bytes) {
  count(memory, bytes, __builtin_return_address(0));
}

void begin_counting() {
  counting.launches.clear();
  counting.launch = changes;
  counting.counts = true;
}

std::vector<CountsByMemory> end_counting() {
  finish_block();
  counting.counts = false;
  return std::exchange(counting.launches, {});
}

void name_memory(const void* begin, size_t bytes, const std::string& name) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  counting.names.insert(counting.names.begin(), {Range{address, address + bytes}, name});
}

void* allocate(size_t bytes) {
  if (device_memory.begin == 0) {
    void* memory = mmap(nullptr, kDeviceBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "memory to be mapped");
    device_memory.begin = reinterpret_cast<uintptr_t>(memory);
    device_memory.end = device_memory.begin + kDeviceBytes;
  }
  const size_t size = (bytes + 255) / 256 * 256;
  if (allocated + size > kDeviceBytes) return nullptr;
  void* memory = reinterpret_cast<void*>(device_memory.begin + allocated);
  allocated += size;
  return memory;
}

void release(void*) {}

}  // namespace emulated_cuda

// Instrumented code calls these before an access.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
unsigned char __tsan_atomic8_load(const volatile unsigned char* memory, int) {
  return __atomic_load_n(memory, __ATOMIC_ACQUIRE);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* memory, size_t bytes) {
  emulated_cuda::count(memory, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* memory, size_t bytes) {
  emulated_cuda::count(memory, bytes, __builtin_return_address(0));
}
#define STRATA_HOOK(name, bytes)                                      \
  void __tsan_##name(void* memory) {                                  \
    emulated_cuda::count(memory, bytes, __builtin_return_address(0)); \
  }
#define STRATA_HOOKS(bytes)                 \
  STRATA_HOOK(read##bytes, bytes)           \
  STRATA_HOOK(write##bytes, bytes)          \
  STRATA_HOOK(unaligned_read##bytes, bytes) \
  STRATA_HOOK(unaligned_write##bytes, bytes)
STRATA_HOOKS(1)
STRATA_HOOKS(2)
STRATA_HOOKS(4)
STRATA_HOOKS(8)
STRATA_HOOKS(16)
}
