// The contract a hardware vendor implements.
//
// A backend gives the benchmark memory, streams and operations (device/operations/operation_list.h
// lists them, device/operations/operations.h defines what each computes). Functions marked optional
// have a default, so that a first port can leave them out. docs/porting.md describes a port;
// tests/conformance/ tests it.
//
// Rules. Operations do not allocate device memory after their first call with given shapes, and do
// not wait for the host. A backend without streams finishes an operation before it returns. Tensors
// are row-major and contiguous, in device memory, owned by the caller. Several threads may call
// operations at once as long as each stream is used by one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/links/collectives.h"
#include "device/operations/operation_list.h"

namespace strata::device {

// Operations on one stream run in order; different streams run concurrently. kSend and kReceive
// carry only messages.
enum class Stream : uint8_t { kCompute, kReduce, kCopy, kSend, kReceive };
inline constexpr int kStreams = 5;

// A point in a stream; 0 is a point already passed.
using Event = uint64_t;

// A device with its own memory, for system descriptions.
struct Accelerator {
  std::string name;
  int64_t memory_bytes = 0;
};

// Operations that were captured instead of run (Backend::capture).
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // Issues the operations again in the order of their capture, after the work given to kCompute so
  // far. Later work on any stream but kCopy runs after them.
  virtual void launch() = 0;
};

// Measures when streams reach points of their work.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // Sets a mark after the work given to `stream` so far. Must not be called inside a capture.
  // Returns the mark's index, starting at 0.
  virtual size_t mark(Stream stream) = 0;
  // Returns the time of each mark, in ns of std::chrono::steady_clock. Waits for the marks, then
  // clears them.
  virtual std::vector<int64_t> read() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // ---- Description.

  virtual std::string name() const = 0;         // same as in device/registry/backends.cc
  virtual std::string description() const = 0;  // device and instruction set, for people
  // Dtype of activations and of the weights that GEMMs read.
  virtual DType compute_dtype() const = 0;
  virtual DType master_dtype() const = 0;  // dtype of master weights, gradients and moments: kF32
  // Optional: the device for system descriptions. Absent if the host's processor computes.
  virtual std::optional<Accelerator> accelerator() const { return {}; }
  // Optional: names and versions of its libraries, for system descriptions.
  virtual std::vector<std::pair<std::string, std::string>> library_versions() const { return {}; }

  // ---- Memory.

  // Optional: whether the host may read and write device memory. If so, host threads reduce
  // gradients. Otherwise reductions are issued on streams, and accelerator() must be present.
  virtual bool memory_is_host() const { return true; }
  // Returns 64-byte aligned, zeroed device memory. Throws OutOfDeviceMemory
  // (device/memory/buffer.h) or another Error if there is not enough.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // Bytes in all current Buffers of this backend (device/memory/buffer.h).
  int64_t buffer_bytes() const { return buffer_bytes_; }
  // Optional: free and total device memory, in bytes. Without it, graphs are captured until
  // capture() throws OutOfDeviceMemory.
  struct Memory {
    int64_t free;
    int64_t total;
  };
  virtual std::optional<Memory> device_memory() { return {}; }
  // Optional: 64-byte aligned host memory whose copies to and from the device do not block the
  // host.
  virtual void* allocate_host(size_t bytes);
  virtual void release_host(void* memory);
  // Copies of host memory from elsewhere may block the host.
  virtual void copy_to_device(Stream stream, void* device, const void* host, size_t bytes) = 0;
  virtual void copy_to_host(Stream stream, void* host, const void* device, size_t bytes) = 0;
  virtual void fill_zero(Stream stream, void* device, size_t bytes) = 0;
  // Optional: copies at most kMostStored bytes to the device, preferably without blocking the host;
  // the default blocks. The caller may change `values` as soon as it returns.
  virtual void store(Stream stream, void* device, const void* values, size_t bytes);
  static constexpr size_t kMostStored = 64;

  // ---- Streams.

  virtual Event record(Stream stream) = 0;  // returns a point after everything issued so far
  virtual void wait(Stream stream, Event event) = 0;  // later work on `stream` runs after `event`
  virtual void synchronize(Stream stream) = 0;  // blocks the host until everything issued is done
  // Optional: with the default, the host blocks at every mark. The backend must outlive the result.
  virtual std::unique_ptr<Stopwatch> make_stopwatch();

  // ---- Capture. Optional: device.graphs in configurations.

  // Captures the work that `issue` issues on kCompute, and on streams that wait for kCompute,
  // instead of running it. `issue` must join those streams to kCompute again, must not wait for
  // events recorded before, and must not synchronize. The same work with the same shapes must have
  // run before. Returns null without calling `issue` if the device cannot capture. Throws
  // OutOfDeviceMemory (device/memory/buffer.h) after `issue` has returned if there is no memory for
  // the graph.
  virtual std::unique_ptr<CapturedGraph> capture(const std::function<void()>& issue);
  // For work that must not be captured. Inside `issue`, with all streams joined, `call` is not
  // called now but at this point of every launch. Outside a capture, calls `call` at once.
  virtual void outside_capture(const std::function<void()>& call);

  // ---- Collectives. Optional: without them gradients go through the host.

  virtual bool has_collectives() const { return false; }
  // All ranks of `group` call together. Returns null if the backend has none.
  virtual std::unique_ptr<Collectives> make_collectives(const RankGroup& group, Stream stream);

  // ---- Autotuning. Optional.

  // Operations whose row counts round up to the same multiple of this share a tuning result. The
  // first of them measures and blocks. 0 means that nothing is tuned.
  virtual int64_t autotune_row_granularity() const { return 0; }

  // ---- Operations (device/operations/operation_list.h). The defaults throw Error.

#define STRATA_DECLARE(function, Arguments, without) \
  virtual void function(Stream, const Arguments&);
  STRATA_OPERATIONS(STRATA_DECLARE)
  // Optional: the defaults call lamb_direction, lamb_apply and adam_update for each tensor.
  STRATA_COMPOSED_OPERATIONS(STRATA_DECLARE)
#undef STRATA_DECLARE

  // Returns true if the operation takes matrices of `dtype`, or updates flat ranges with them. For
  // FP8: whether GEMMs support it, natively or emulated; if not, no tensor is FP8 and every
  // Float8Copy is empty. A backend that supports an operation for model.norm also supports the
  // fields of other operations that serve it. The default is what every port must have, in the
  // compute and the master dtype.
  virtual bool supports(Operation operation, DType dtype) const;
  // Throws Error with an alternative unless supports(operation, dtype).
  void require(Operation operation, DType dtype) const;

 private:
  friend class Buffer;
  std::atomic<int64_t> buffer_bytes_ = 0;
};

// Calls the function of the operation that takes these arguments.
#define STRATA_ISSUE(function, Arguments, without)                          \
  inline void issue(Backend& backend, Stream stream, const Arguments& op) { \
    backend.function(stream, op);                                           \
  }
STRATA_OPERATIONS(STRATA_ISSUE)
#undef STRATA_ISSUE

// True if backend `B`, or a class between it and Backend, overrides the operation's function.
template <typename B>
constexpr bool overrides(Operation operation) {
  switch (operation) {
#define STRATA_OVERRIDES(function, Arguments, without) \
  case Operation::k##Arguments:                        \
    return !std::is_same_v<decltype(&B::function), void (Backend::*)(Stream, const Arguments&)>;
    STRATA_OPERATIONS(STRATA_OVERRIDES)
#undef STRATA_OVERRIDES
  }
  __builtin_unreachable();
}

}  // namespace strata::device
