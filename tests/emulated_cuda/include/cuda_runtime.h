// The part of CUDA that Strata's kernels use, on the processor, for tests without a GPU. The
// kernels' own sources are compiled with this in place of CUDA's header. Blocks run one after the
// other. The threads of a block take turns, and switch only where they wait for each other, so
// __syncthreads and shuffles behave as on a GPU. Errors that need true concurrency, such as a
// missing __syncthreads between warps, may not show.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Indices of the running thread. `constinit` lets them be read without a call.
extern constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated_cuda {

void run(dim3 grid, dim3 block, const std::function<void()>& kernel);
void sync_threads();
void sync_warp();
bool is_last_of_warp();  // true if all other threads of the warp wait in sync_warp
inline int lane() { return static_cast<int>(threadIdx.x) % 32; }
// Copies by the running thread, followed by zeros. They happen when the thread waits for them, or
// at once.
void copy_later(void* to, const void* from, size_t bytes, size_t zeros);
void finish_copies();
// Makes copied data visible to wgmma products.
void publish_copies();
// One thread's part of a product: it has `columns` / 8 fours of c.
struct Product {
  float (*c)[4];
  uint32_t a[4];
  uint64_t b;  // describes shared memory
  int columns;
  bool inner_rows, adds;
};
// Products of the running warp, after begin_products. They happen when the warp waits for them, or
// at once.
void begin_products();
void multiply_later(const Product& product);
void finish_products();
// Called before accesses by instructions that move more than a variable. Does nothing; programs
// that count accesses replace it.
void note_access(const void* memory, size_t bytes);
// Returns an 18-bit address, because shared memory has less than 256 KiB.
uint32_t shared_address(const void* pointer);
const void* shared_memory(uint32_t address);
// Returns device memory filled with 0xff, which is NaN in all dtypes, or null.
void* allocate(size_t bytes);
void release(void* memory);
// Ends the program with the violated expectation.
[[noreturn]] void fail(const char* expectation);
inline void require(bool holds, const char* expectation) {
  if (!holds) fail(expectation);
}
// Advances as threads run; timing reads it as ns.
extern constinit thread_local uint64_t ticks;
// Advances with everything that may change memory, except for GEMMs.
inline constinit thread_local uint64_t changes = 0;

// Memory in which the threads of the warp exchange values of up to that many bytes. Two buffers
// alternate, because some threads may still read the previous values.
inline constexpr size_t kMostValueBytes = 32;
void* place_for_values();

// Lets the threads of a warp read each other's values. All threads construct one together, and must
// finish reading before they construct the second next.
template <typename Value>
class WarpValues {
 public:
  explicit WarpValues(const Value& mine) : WarpValues(mine, [](const WarpValues&) {}) {}
  // The last thread to arrive does the work for all.
  template <typename Work>
  WarpValues(const Value& mine, const Work& work)
      : values_(static_cast<Value*>(place_for_values())) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= kMostValueBytes);
    std::construct_at(values_ + lane(), mine);
    if (is_last_of_warp()) work(*this);
    sync_warp();
  }
  const Value& of(int lane) const { return values_[lane]; }

 private:
  Value* values_;
};

}  // namespace emulated_cuda

inline void __syncthreads() { emulated_cuda::sync_threads(); }
inline void __syncwarp() { emulated_cuda::sync_warp(); }
template <typename Value>
Value __shfl_xor_sync(unsigned, Value value, int distance) {
  return emulated_cuda::WarpValues<Value>(value).of(emulated_cuda::lane() ^ distance);
}
template <typename Value>
Value __shfl_sync(unsigned, Value value, int lane) {
  return emulated_cuda::WarpValues<Value>(value).of(lane);
}
inline int __any_sync(unsigned, int condition) {
  const emulated_cuda::WarpValues<int> conditions(condition);
  int any = 0;
  for (int lane = 0; lane < 32; ++lane) any |= conditions.of(lane) != 0;
  return any;
}
// The clock of a GPU of 1 GHz. Each call takes time, so that loops that wait for it end.
inline long long clock64() {
  emulated_cuda::ticks += 100;
  return static_cast<long long>(emulated_cuda::ticks);
}
inline int __float_as_int(float x) {
  int bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <typename Value>
Value __ldcg(const Value* from) {
  return *from;
}
inline int atomicMax(int* to, int value) { return std::exchange(*to, *to > value ? *to : value); }
// Byte i of the result is the one of eight bytes that nibble i of `selector` selects; y's bytes
// follow x's.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7u) & 0xffu) << 8 * i;
  }
  return result;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

// ---- The runtime: every call is finished when it returns, or recorded during graph capture.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorStreamCaptureUnsupported = 900
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
using cudaStream_t = void*;
using cudaEvent_t = uint64_t*;

namespace emulated_cuda {

// A graph: all work issued during its capture, in order.
using Graph = std::vector<std::function<void()>>;
inline Graph* captured = nullptr;  // from all streams
inline int graph_launches = 0;
inline int late_uploads = 0;  // graphs launched before their upload
// Device memory in bytes that a graph takes, and that is free.
inline size_t graph_bytes = 0;
inline int failing_allocations = 0;  // number of next allocations that fail
inline size_t free_memory = size_t{1} << 30;
// Called with the name of every function that may wait for a real GPU: those that CUDA documents to
// synchronize, copies (host memory may be pageable), and functions that need a place in a queue.
inline std::function<void(const char* function)> may_wait = [](const char*) {};
inline int streams = 0;           // number of existing streams
inline int kernel_launches = 0;   // number of kernels run
inline int cudnn_operations = 0;  // number run by cuDNN's stand-in
inline bool cudnn_has_no_plans = false;
inline int64_t cudnn_workspace_bytes = 0;
// Make products of `mma` or `wgmma` lose their last term.
inline bool mma_is_wrong = false, wgmma_is_wrong = false;

// Time that a launch takes on the host while the GPU works, and the host's time.
inline uint64_t launch_ticks = 0;
inline constinit thread_local uint64_t host_ticks = 0;

template <typename Work>
cudaError_t issue(const char* function, Work work) {
  may_wait(function);
  if (captured) {
    captured->push_back(std::move(work));
  } else {
    if (launch_ticks > 0) {
      host_ticks += launch_ticks;
      if (ticks < host_ticks) ticks = host_ticks;
    }
    work();
  }
  return cudaSuccess;
}

}  // namespace emulated_cuda

struct cudaDeviceProp {
  char name[32] = "emulated GPU";
  int major = 9, minor = 0,
      multiProcessorCount = 1;  // so that threads loop
  size_t totalGlobalMem = size_t{1} << 30;
};

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return emulated_cuda::issue(
      "cudaLaunchKernelEx", [kernel, values, grid = config->gridDim, block = config->blockDim] {
        ++emulated_cuda::changes;
        ++emulated_cuda::kernel_launches;
        emulated_cuda::run(grid, block, [&] { std::apply(kernel, values); });
      });
}

enum { cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared = 100 };
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*)(Parameters...), int, int) {
  return cudaSuccess;
}

inline const char* cudaGetErrorString(cudaError_t) { return "emulated error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetPCIBusId(char* address, int, int) {
  *address = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() {
  emulated_cuda::may_wait("cudaDeviceSynchronize");
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *available = emulated_cuda::free_memory;
  *total = size_t{1} << 30;
  return cudaSuccess;
}
template <typename Value>
cudaError_t cudaMalloc(Value** memory, size_t bytes) {
  emulated_cuda::may_wait("cudaMalloc");
  if (emulated_cuda::captured) return cudaErrorStreamCaptureUnsupported;
  if (emulated_cuda::failing_allocations > 0) {
    --emulated_cuda::failing_allocations;
    return cudaErrorMemoryAllocation;
  }
  *memory = static_cast<Value*>(emulated_cuda::allocate(bytes));
  if (!*memory) return cudaErrorMemoryAllocation;
  ++emulated_cuda::changes;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  emulated_cuda::may_wait("cudaFree");
  emulated_cuda::release(memory);
  return cudaSuccess;
}
template <typename Value>
cudaError_t cudaMallocHost(Value** memory, size_t bytes) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
inline cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t) {
  return emulated_cuda::issue("cudaMemsetAsync", [=] {
    ++emulated_cuda::changes;
    std::memset(memory, value, bytes);
  });
}
inline cudaError_t cudaMemset2DAsync(void* memory, size_t pitch, int value, size_t width,
                                     size_t height, cudaStream_t) {
  return emulated_cuda::issue("cudaMemset2DAsync", [=] {
    ++emulated_cuda::changes;
    for (size_t row = 0; row < height; ++row) {
      std::memset(static_cast<char*>(memory) + row * pitch, value, width);
    }
  });
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  return emulated_cuda::issue("cudaMemcpyAsync", [=] {
    ++emulated_cuda::changes;
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int) {
  ++emulated_cuda::streams;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) {
  --emulated_cuda::streams;
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  emulated_cuda::may_wait("cudaStreamSynchronize");
  ++emulated_cuda::changes;  // so that benchmarks time new computations
  return emulated_cuda::captured ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new uint64_t{0};
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return emulated_cuda::issue("cudaEventRecord", [event] { *event = emulated_cuda::ticks; });
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
  emulated_cuda::may_wait("cudaEventSynchronize");
  emulated_cuda::host_ticks = emulated_cuda::ticks;
  return emulated_cuda::captured ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = 1e-6f * static_cast<float>(*end - *begin);
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  emulated_cuda::may_wait("cudaStreamWaitEvent");
  return cudaSuccess;
}

// ---- Graphs

enum { cudaStreamCaptureModeThreadLocal = 1 };
namespace emulated_cuda {
struct Executable {
  Graph work;
  size_t bytes;
  bool uploaded = false;
};
}  // namespace emulated_cuda
using cudaGraph_t = emulated_cuda::Graph*;
using cudaGraphExec_t = emulated_cuda::Executable*;

inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = emulated_cuda::captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, int) {
  emulated_cuda::captured = new emulated_cuda::Graph;
  return cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(emulated_cuda::captured, nullptr);
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned) {
  emulated_cuda::may_wait("cudaGraphInstantiate");
  if (emulated_cuda::free_memory < emulated_cuda::graph_bytes) return cudaErrorMemoryAllocation;
  emulated_cuda::free_memory -= emulated_cuda::graph_bytes;
  *executable = new emulated_cuda::Executable{*graph, emulated_cuda::graph_bytes};
  return cudaSuccess;
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t) {
  emulated_cuda::may_wait("cudaGraphUpload");
  graph->uploaded = true;
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  emulated_cuda::may_wait("cudaGraphLaunch");
  ++emulated_cuda::graph_launches;
  emulated_cuda::late_uploads += graph->uploaded ? 0 : 1;
  for (const auto& work : graph->work) work();
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  emulated_cuda::free_memory += graph->bytes;
  delete graph;
  return cudaSuccess;
}
