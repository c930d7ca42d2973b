#include "device/cuda/cuda_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "device/cuda/attention/attention.h"
#include "device/cuda/gemm/matmul.h"
#include "device/cuda/host/graph.h"
#include "device/cuda/host/nccl_collectives.h"
#include "device/cuda/host/nearest_processors.h"
#include "device/cuda/host/stopwatch.h"
#include "device/cuda/runtime/operations.h"
#include "device/cuda/runtime/store.h"
#include "device/memory/buffer.h"
#include "device/operations/dispatching_backend.h"

namespace strata::device::cuda {
namespace {

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// A stream with its recorded points, scratch and GEMMs.
class StreamState {
 public:
  // `first` gives its kernels priority over other streams'. Without `gemms`, the stream has no
  // GEMMs.
  explicit StreamState(const std::optional<MatmulOptions>& gemms, bool first = false)
      : stream_(make_stream(first)) {
    for (cudaEvent_t& event : events_) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    }
    if (gemms) matmul_ = std::make_unique<Matmul>(stream_, *gemms);
  }
  ~StreamState() {
    matmul_.reset();
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  cudaStream_t stream() const { return stream_; }
  Scratch* scratch() { return scratch_.data(); }  // [Context::kScratchSlots]
  Matmul& matmul() const { return *matmul_; }

  // Returns numbers from 1. CUDA events are reused: a reused event marks a later point of the same
  // stream, so waiting for the earlier number only waits a little longer.
  uint64_t record() {
    const uint64_t number = ++recorded_;
    check(cudaEventRecord(event(number), stream_), "recording an event");
    return number;
  }
  cudaEvent_t event(uint64_t number) const { return events_[number % events_.size()]; }

 private:
  static cudaStream_t make_stream(bool first) {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for streams' priorities");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first ? greatest : least),
          "creating a stream");
    return stream;
  }
  cudaStream_t stream_;
  std::array<cudaEvent_t, 1024> events_{};
  std::atomic<uint64_t> recorded_{0};
  std::unique_ptr<Matmul> matmul_;
  std::array<Scratch, Context::kScratchSlots> scratch_;
};

MatmulOptions gemms(const KernelChoices& choices, const cudaDeviceProp& gpu) {
  MatmulOptions options{.epilogues = choices.epilogues};
  if (const int left = choices.communication_multiprocessors; left > 0) {
    options.multiprocessors = gpu.multiProcessorCount - left;
    if (options.multiprocessors <= 0) {
      fail(
          "cuda: device.options.communication_multiprocessors {}: {} has {} multiprocessors; give "
          "a smaller number",
          left, gpu.name, gpu.multiProcessorCount);
    }
  }
  return options;
}

template <typename T>
class CudaBackend final : public DispatchingBackend<Operations<T>, Context> {
  using Dispatching = DispatchingBackend<Operations<T>, Context>;

 public:
  // Makes the GPU the calling thread's.
  CudaBackend(int device, const cudaDeviceProp& properties, std::string address,
              const KernelChoices& choices)
      : device_(device),
        properties_(properties),
        address_(std::move(address)),
        // High priority, because reductions and messages would otherwise queue behind all of
        // backward's blocks.
        streams_{
            StreamState(gemms(choices, properties)), StreamState(gemms(choices, properties), true),
            StreamState(gemms(choices, properties)), StreamState({}, true), StreamState({}, true)},
        // Only plain attention supports f32 and f16.
        attention_(std::is_same_v<T, BFloat16> ? choices.attention : AttentionKernel::kPlain,
                   properties, choices.attention_compared_from) {}
  ~CudaBackend() override {
    const HostWait wait = watched("the end of the GPU's work");
    cudaSetDevice(device_);
    cudaDeviceSynchronize();
  }

  std::string name() const override { return "cuda"; }
  std::string description() const override {
    return fmt::format("{}, {} multiprocessors, {} GEMMs by cuBLASLt", properties_.name,
                       properties_.multiProcessorCount, name_of(compute_dtype()));
  }
  std::optional<Accelerator> accelerator() const override {
    return Accelerator{properties_.name, static_cast<int64_t>(properties_.totalGlobalMem)};
  }
  DType compute_dtype() const override { return dtype_of<T>(); }
  DType master_dtype() const override { return DType::kF32; }
  bool memory_is_host() const override { return false; }
  int64_t autotune_row_granularity() const override { return kRowsTriedTogether; }
  // GPUs of 8.9 support FP8, too, but run the code for 8.0, whose kernels write no codes.
  bool supports(Operation operation, DType dtype) const override {
    if (!is_float8(dtype)) return Dispatching::supports(operation, dtype);
    return compute_dtype() == DType::kBF16 && properties_.major >= 9;
  }
  std::vector<std::pair<std::string, std::string>> library_versions() const override {
    int runtime = 0;
    check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
    return {{"CUDA", fmt::format("{}.{}", runtime / 1000, runtime / 10 % 100)},
            {"cuBLASLt", cublaslt_version()}};
  }
  bool has_collectives() const override { return true; }
  std::unique_ptr<Collectives> make_collectives(const RankGroup& group, Stream s) override {
    if (group.waits) host_waits_ = group.waits;
    RankGroup named = group;
    named.device = fmt::format("{} at {} of {}", properties_.name, address_, host_name());
    return make_nccl_collectives(named, stream(s));
  }

  std::optional<Backend::Memory> device_memory() override {
    use_device();
    size_t available = 0, total = 0;
    check(cudaMemGetInfo(&available, &total), "asking for free memory");
    return Backend::Memory{static_cast<int64_t>(available), static_cast<int64_t>(total)};
  }
  void* allocate(size_t bytes) override {
    const HostWait wait = watched("an allocation of GPU memory");
    void* memory = nullptr;
    use_device();
    const cudaError_t status = cudaMalloc(&memory, std::max<size_t>(bytes, 64));
    if (status != cudaErrorMemoryAllocation) {
      check(status, "allocating memory");
    } else {
      cudaGetLastError();
      const Backend::Memory memory_now = *device_memory();
      throw OutOfDeviceMemory(fmt::format(
          "cuda: cannot allocate {} MiB of GPU memory, {} of {} MiB are free; use a smaller model "
          "or micro-batch",
          bytes >> 20, memory_now.free >> 20, memory_now.total >> 20));
    }
    check(cudaMemset(memory, 0, std::max<size_t>(bytes, 64)), "clearing memory");
    check(cudaDeviceSynchronize(), "clearing memory");
    return memory;
  }
  void release(void* memory) override {
    const HostWait wait = watched("a release of GPU memory");
    cudaSetDevice(device_);
    cudaFree(memory);
  }
  void* allocate_host(size_t bytes) override {
    const HostWait wait = watched("an allocation of pinned memory");
    use_device();
    void* memory = nullptr;
    check(cudaMallocHost(&memory, std::max<size_t>(bytes, 64)), "allocating pinned memory");
    return memory;
  }
  void release_host(void* memory) override {
    const HostWait wait = watched("a release of pinned memory");
    cudaSetDevice(device_);
    cudaFreeHost(memory);
  }
  void copy_to_device(Stream s, void* device, const void* host, size_t bytes) override {
    const HostWait wait = watched("a copy to the GPU");
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream(s)),
          "copying to the GPU");
  }
  void copy_to_host(Stream s, void* host, const void* device, size_t bytes) override {
    const HostWait wait = watched("a copy from the GPU");
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream(s)),
          "copying from the GPU");
  }
  void fill_zero(Stream s, void* device, size_t bytes) override {
    const HostWait wait = watched(kLaunch);
    check(cudaMemsetAsync(device, 0, bytes, stream(s)), "clearing memory");
  }

  void store(Stream s, void* device, const void* values, size_t bytes) override {
    const HostWait wait = watched(kLaunch);
    cuda::store(stream(s), device, values, bytes);
  }

  Event record(Stream s) override {
    const HostWait wait = watched(kLaunch);
    use_device();
    return state(s).record() * kStreams + static_cast<uint64_t>(s);
  }
  void wait(Stream s, Event event) override {
    if (event == 0) return;
    const HostWait wait = watched(kLaunch);
    use_device();
    check(cudaStreamWaitEvent(stream(s), streams_[event % kStreams].event(event / kStreams), 0),
          "waiting for an event");
  }
  void synchronize(Stream s) override {
    const HostWait wait = watched("the GPU's collectives");
    check(cudaStreamSynchronize(stream(s)), "finishing work on the GPU");
  }

  std::unique_ptr<Stopwatch> make_stopwatch() override {
    return make_event_stopwatch([this](Stream s) { return stream(s); }, host_waits_);
  }

  std::unique_ptr<CapturedGraph> capture(const std::function<void()>& issue) override {
    const HostWait wait = watched("the capture of a graph");
    auto captured = std::make_unique<CapturedCudaGraph>(*this);
    capturing_ = &captured->graph();
    try {
      capturing_->capture(issue);
    } catch (...) {
      capturing_ = nullptr;
      throw;
    }
    capturing_ = nullptr;
    return captured;
  }
  void outside_capture(const std::function<void()>& call) override {
    if (capturing_) {
      capturing_->outside_capture(call);
    } else {
      call();
    }
  }

 private:
  class CapturedCudaGraph final : public CapturedGraph {
   public:
    explicit CapturedCudaGraph(CudaBackend& backend)
        : backend_(backend), graph_(backend.stream(Stream::kCompute)) {}
    CudaGraph& graph() { return graph_; }
    void launch() override {
      const HostWait wait = backend_.watched(kLaunch);
      backend_.use_device();
      graph_.launch();
      backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
    }

   private:
    CudaBackend& backend_;
    CudaGraph graph_;
  };

  static constexpr char kLaunch[] = "a launch on the GPU";

  // Watches a call in which the host may wait for the GPU, and so for other ranks.
  HostWait watched(const char* operation) const { return {host_waits_.get(), operation}; }

  StreamState& state(Stream s) { return streams_[static_cast<size_t>(s)]; }
  cudaStream_t stream(Stream s) {
    use_device();
    return state(s).stream();
  }
  Context on(Stream s, const char* operation) override {
    use_device();
    StreamState& on = state(s);
    return {on.stream(),
            on.scratch(),
            on.matmul(),
            attention_,
            properties_.multiProcessorCount,
            ProfilerRange(operation),
            {host_waits_.get(), kLaunch}};
  }
  // CUDA stores the current GPU per thread.
  void use_device() const { check(cudaSetDevice(device_), "choosing a GPU"); }

  int device_;
  CudaGraph* capturing_ = nullptr;
  cudaDeviceProp properties_;
  std::string address_;  // PCI bus address
  std::shared_ptr<HostWaits> host_waits_;
  std::array<StreamState, kStreams> streams_;
  AttentionChoice attention_;  // destroyed before the streams that its cuDNN handle uses
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(DType compute_dtype, int device,
                                           const KernelChoices& choices) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    fail("cuda: no GPU can be used here: {}",
         status == cudaSuccess ? "there is none" : cudaGetErrorString(status));
  }
  if (devices == 1) device = 0;
  if (device < 0 || device >= devices) {
    fail(
        "cuda: this process should use GPU number {}, but sees only {}; start one rank for each "
        "GPU of a machine",
        device, devices);
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "asking for a GPU's properties");
  if (properties.major < 8) {
    fail("cuda: {} has compute capability {}.{}, but 8.0 (A100) or newer is needed",
         properties.name, properties.major, properties.minor);
  }
  char address[32] = "";
  check(cudaDeviceGetPCIBusId(address, sizeof address, device), "asking where a GPU is");
  bind_to_nearest_processors(address);
  check(cudaSetDevice(device), "choosing a GPU");
  if (compute_dtype == DType::kF32) {
    return std::make_unique<CudaBackend<float>>(device, properties, address, choices);
  }
  if (compute_dtype == DType::kBF16) {
    return std::make_unique<CudaBackend<BFloat16>>(device, properties, address, choices);
  }
  if (compute_dtype == DType::kF16) {
    return std::make_unique<CudaBackend<Float16>>(device, properties, address, choices);
  }
  fail("the cuda backend computes in f32, bf16 or f16, not f64; the reference backend does");
}

}  // namespace strata::device::cuda
