// The contract a hardware vendor implements.
//
// A backend gives the benchmark memory, streams and operations (device/operations/operation_list.h
// lists them, device/operations/operations.h says what each computes). What is marked optional has
// a default: a first port leaves it out. docs/porting.md leads through a port; tests/conformance/
// judges it.
//
// Rules. No operation allocates device memory once its shapes have been seen; none waits for the
// host (a backend without streams of its own simply finishes before it returns). Tensors are
// row-major and contiguous, in device memory, owned by the caller. Operations may be called from
// several threads at once as long as each stream is used by one at a time.
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

// What runs concurrently. Operations on one stream happen in order. kSend and kReceive have
// messages alone.
enum class Stream : uint8_t { kCompute, kReduce, kCopy, kSend, kReceive };
inline constexpr int kStreams = 5;

// A point in a stream; 0 is a point already passed.
using Event = uint64_t;

// A device with memory of its own, as system descriptions name it.
struct Accelerator {
  std::string name;
  int64_t memory_bytes = 0;
};

// Operations that were captured instead of run (Backend::capture).
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // Issues them again, in the order they were captured in, after what kCompute was given so far;
  // what any stream but kCopy is given from now on follows them.
  virtual void launch() = 0;
};

// Notes when streams get to points of their work.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // A mark after what `stream` was given so far, not inside a capture. Returns its number, from 0.
  virtual size_t mark(Stream stream) = 0;
  // When the streams got to each mark, in ns of std::chrono::steady_clock: waits for them, then
  // forgets the marks.
  virtual std::vector<int64_t> read() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // ---- What it is.

  virtual std::string name() const = 0;         // that of its entry in device/registry/backends.cc
  virtual std::string description() const = 0;  // device and instruction set, for people
  virtual DType compute_dtype() const = 0;      // of activations and of the weights that GEMMs read
  virtual DType master_dtype() const = 0;       // of master weights, gradients and moments: kF32
  // Optional: what system descriptions name. Absent: the host's processor computes.
  virtual std::optional<Accelerator> accelerator() const { return {}; }
  // Optional: names and versions of the libraries that it computes with, for system descriptions.
  virtual std::vector<std::pair<std::string, std::string>> library_versions() const { return {}; }

  // ---- Memory.

  // Optional: whether the host may read and write device memory. Where it may, gradients are
  // reduced by threads of the host, else by work on streams; then there is an accelerator(), too.
  virtual bool memory_is_host() const { return true; }
  // Returns 64-byte aligned, zeroed device memory. Throws OutOfDeviceMemory
  // (device/memory/buffer.h) or another Error if there is not enough.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // In all of its Buffers (device/memory/buffer.h), now.
  int64_t buffer_bytes() const { return buffer_bytes_; }
  // Optional: free and total device memory, in bytes. Without it, graphs are captured until
  // capture() throws OutOfDeviceMemory.
  struct Memory {
    int64_t free;
    int64_t total;
  };
  virtual std::optional<Memory> device_memory() { return {}; }
  // Optional: 64-byte aligned host memory that copies to and from the device need not be waited
  // for.
  virtual void* allocate_host(size_t bytes);
  virtual void release_host(void* memory);
  // Of other host memory a copy may make the host wait.
  virtual void copy_to_device(Stream stream, void* device, const void* host, size_t bytes) = 0;
  virtual void copy_to_host(Stream stream, void* host, const void* device, size_t bytes) = 0;
  virtual void fill_zero(Stream stream, void* device, size_t bytes) = 0;
  // Optional: a copy of a few bytes, at most kMostStored, that should not make the host wait; the
  // default does. `values` may be changed at once.
  virtual void store(Stream stream, void* device, const void* values, size_t bytes);
  static constexpr size_t kMostStored = 64;

  // ---- Streams.

  virtual Event record(Stream stream) = 0;            // a point after everything issued so far
  virtual void wait(Stream stream, Event event) = 0;  // what follows on `stream` runs after `event`
  virtual void synchronize(Stream stream) = 0;        // the host waits for everything issued
  // Optional: with the default the host waits at every mark. The backend outlives it.
  virtual std::unique_ptr<Stopwatch> make_stopwatch();

  // ---- Capture. Optional: device.graphs in configurations.

  // Captures what `issue` issues on kCompute, and on streams that it makes wait for kCompute,
  // instead of running it. `issue` joins those streams to kCompute again, waits for no point
  // recorded before, and does not synchronize; all of it has run before with the same shapes. Null
  // where the device cannot do this: then nothing is issued. Throws OutOfDeviceMemory
  // (device/memory/buffer.h) if there is no memory for the graph, after `issue` has
  // returned.
  virtual std::unique_ptr<CapturedGraph> capture(const std::function<void()>& issue);
  // Inside `issue`, once all streams are joined: instead of being called now, `call` is called at
  // this place of every launch, for what must not be captured. Elsewhere just calls it.
  virtual void outside_capture(const std::function<void()>& call);

  // ---- Collectives. Optional: without them gradients go through the host.

  virtual bool has_collectives() const { return false; }
  // All ranks of `group` call together. Null where there are none.
  virtual std::unique_ptr<Collectives> make_collectives(const RankGroup& group, Stream stream);

  // ---- Autotuning. Optional.

  // Operations whose numbers of rows round up to the same multiple of this share what was found to
  // be fastest, which the first of them waits for; 0: nothing is tried.
  virtual int64_t autotune_row_granularity() const { return 0; }

  // ---- Operations (device/operations/operation_list.h). Those that a backend does not override
  // throw Error.

#define STRATA_DECLARE(function, Arguments, without) \
  virtual void function(Stream, const Arguments&);
  STRATA_OPERATIONS(STRATA_DECLARE)
  // Optional: the defaults call lamb_direction, lamb_apply and adam_update for each tensor.
  STRATA_COMPOSED_OPERATIONS(STRATA_DECLARE)
#undef STRATA_DECLARE

  // Whether the operation takes matrices of `dtype`, or changes ranges of it. For FP8: whether
  // GEMMs can be in it, be it by computing what they would give; where they cannot, no tensor is
  // FP8 and every Float8Copy is empty. If an operation for model.norm is there, so are the fields
  // of others that serve it. Default: what every port must have, in the compute and the master
  // dtype.
  virtual bool supports(Operation operation, DType dtype) const;
  // Throws Error, which says what to use instead, unless supports(operation, dtype).
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

// Whether backend `B`, or a class between it and Backend, overrides the operation's function.
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
