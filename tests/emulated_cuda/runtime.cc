// Blocks of threads as fibers that take turns.
#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/emulated_cuda/tensor_cores.h"

constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated_cuda {

constinit thread_local uint64_t ticks = 0;

namespace {

constexpr int kWarpSize = 32;
constexpr size_t kStackBytes = 128 << 10;
constexpr uintptr_t kSharedBytes = 256 << 10;

// Releases a group of threads when all that have not ended have arrived.
struct Barrier {
  int members = 0;
  int arrived = 0;
  uint64_t passed = 0;  // number of releases

  void arrive() {
    ++arrived;
    release_if_complete();
  }
  void leave() {
    --members;
    release_if_complete();
  }
  void release_if_complete() {
    if (arrived == 0 || arrived < members) return;
    arrived = 0;
    ++passed;
  }
};

// A copy that a thread has not waited for yet.
struct Copy {
  void* to;
  const void* from;
  size_t bytes, zeros;

  void happen() {
    if (bytes > 0) std::memcpy(to, from, bytes);
    std::memset(static_cast<char*>(to) + bytes, 0, zeros);
    bytes = zeros = 0;
  }
};

// The state of a suspended stack. It is that of GCC's own setjmp, which makes no system call and
// saves no unneeded registers.
using Place = void* [5];

[[noreturn, gnu::noinline]] void go_on_at(Place& place) { __builtin_longjmp(place, 1); }

// Callers of such a function must not assume that it preserves registers.
#ifdef __clang__
#define STRATA_NOT_ANALYSED [[gnu::noinline]]
#else
#define STRATA_NOT_ANALYSED [[gnu::noipa, gnu::noinline]]
#endif

// Returns when the stack resumes at `from`.
STRATA_NOT_ANALYSED void change_stacks(Place& from, Place& to) {
  if (__builtin_setjmp(from) == 0) go_on_at(to);
}
STRATA_NOT_ANALYSED void change_stacks(Place& from, const ucontext_t& to) {
  if (__builtin_setjmp(from) == 0) setcontext(&to);
}

// A stack that runs one thread of the block, and later another.
struct Fiber {
  Place place;
  const Barrier* awaited = nullptr;
  uint64_t passed = 0;  // count when it began to wait
  bool ended = true;
  bool published = true;  // false if some arrived copies are not published
  bool may_multiply = false;
  uint32_t products_begun = 0;
  std::vector<Copy> copies;  // pending copies
  std::vector<Product> products;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);

  bool can_go_on() const { return !ended && (!awaited || awaited->passed != passed); }
};

struct Warp {
  Barrier barrier;
  alignas(kMostValueBytes) std::byte values[2][kWarpSize][kMostValueBytes];
  uint8_t values_put[kWarpSize] = {};  // number of values put by each thread, modulo 2
};

struct Block {
  const std::function<void()>* kernel = nullptr;
  Place scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;  // reused for all blocks
  Barrier threads;
  std::vector<Warp> warps;
  int unpublished = 0;         // threads with unpublished copies
  uintptr_t shared_begin = 0;  // address of shared memory's first byte
  Fiber* running = nullptr;
  std::mt19937 random, coin;

  Fiber& fiber(int thread) { return *fibers[static_cast<size_t>(thread)]; }
};

Block& block() {
  static thread_local Block the_block;
  return the_block;
}

// The running thread's block.
constinit thread_local Block* here = nullptr;

int warp_number() { return static_cast<int>(threadIdx.x) / kWarpSize; }
Warp& warp() { return here->warps[static_cast<size_t>(warp_number())]; }
Fiber& fiber() { return *here->running; }

Place& place_of(int thread) {
  here->running = &here->fiber(thread);
  threadIdx.x = static_cast<unsigned>(thread);
  return here->running->place;
}

// Resumes the warp's next thread that can run, or the scheduler if there is none.
void yield() {
  Place& mine = fiber().place;
  const int first = warp_number() * kWarpSize;
  for (int i = 1; i < kWarpSize; ++i) {
    const int next = first + (lane() + i) % kWarpSize;
    if (here->fiber(next).can_go_on()) return change_stacks(mine, place_of(next));
  }
  change_stacks(mine, here->scheduler);
}

void wait_at(Barrier& barrier) {
  Fiber& mine = fiber();
  mine.awaited = &barrier;
  mine.passed = barrier.passed;
  barrier.arrive();
  ++ticks;
  if (!mine.can_go_on()) yield();
}

void run_fiber() {
  change_stacks(fiber().place, here->scheduler);
  for (;;) {
    (*here->kernel)();
    require(fiber().copies.empty(), "a thread to end after its copies");
    require(fiber().products.empty(), "a thread to end after its products");
    fiber().ended = true;
    ++ticks;
    here->threads.leave();
    warp().barrier.leave();
    yield();
  }
}

// Computes the pending products of the current fiber.
void make_products() {
  for (const Product& product : fiber().products) WarpValues<const Product*>(&product, multiply);
  fiber().products.clear();
}

// Returns a fiber that waits for its first thread.
std::unique_ptr<Fiber> make_fiber() {
  auto fiber = std::make_unique<Fiber>();
  here->running = fiber.get();
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber->stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, run_fiber, 0);
  change_stacks(here->scheduler, context);
  return fiber;
}

// Runs the threads of a warp as long as they make progress without other warps. Returns true if any
// made progress.
bool run_warp(int number) {
  for (int thread = number * kWarpSize; thread < (number + 1) * kWarpSize; ++thread) {
    if (!here->fiber(thread).can_go_on()) continue;
    change_stacks(here->scheduler, place_of(thread));
    return true;
  }
  return false;
}

// Runs warps in an order that changes, each as far as possible. A warp that runs ahead without a
// barrier then overwrites data that another warp has yet to read.
void run_block(int threads) {
  here->threads = {.members = threads};
  here->warps.resize(static_cast<size_t>(threads / kWarpSize));
  for (Warp& warp : here->warps) warp.barrier = {.members = kWarpSize};
  here->unpublished = 0;
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = here->fiber(i);
    fiber.ended = false;
    fiber.published = true;
    fiber.awaited = nullptr;
  }
  std::vector<int> warps(here->warps.size());
  std::iota(warps.begin(), warps.end(), 0);
  while (here->threads.members > 0) {
    std::shuffle(warps.begin(), warps.end(), here->random);
    bool got_on = false;
    for (const int number : warps) got_on |= run_warp(number);
    require(got_on, "threads that do not wait for each other for ever");
  }
}

}  // namespace

void sync_threads() { wait_at(here->threads); }

void sync_warp() { wait_at(warp().barrier); }

bool is_last_of_warp() {
  const Barrier& barrier = warp().barrier;
  return barrier.arrived == barrier.members - 1;
}

void* place_for_values() { return warp().values[warp().values_put[lane()]++ % 2]; }

void copy_later(void* to, const void* from, size_t bytes, size_t zeros) {
  fiber().copies.push_back({to, from, bytes, zeros});
  if (here->coin() % 2 == 0) fiber().copies.back().happen();
}

void finish_copies() {
  if (fiber().published && !fiber().copies.empty()) {
    fiber().published = false;
    ++here->unpublished;
  }
  for (Copy& copy : fiber().copies) copy.happen();
  fiber().copies.clear();
}

void publish_copies() {
  if (!fiber().published) --here->unpublished;
  fiber().published = true;
}

void begin_products() { fiber().may_multiply = true; }

void multiply_later(const Product& product) {
  require(fiber().may_multiply, "begin_products before products");
  require(here->unpublished == 0, "copies to be published before products");
  fiber().products.push_back(product);
  // All threads of a warp must decide alike.
  const uint32_t coin =
      (++fiber().products_begun + static_cast<uint32_t>(warp_number())) * 2654435761u;
  if (coin >> 31) make_products();
}

void finish_products() {
  make_products();
  fiber().may_multiply = false;
}

uint32_t shared_address(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (here->shared_begin == 0) here->shared_begin = (address - kSharedBytes / 2) & ~uintptr_t{1023};
  require(address - here->shared_begin < kSharedBytes, "shared memory of less than 128 KiB");
  return static_cast<uint32_t>(address - here->shared_begin);
}

const void* shared_memory(uint32_t address) {
  return reinterpret_cast<const void*>(here->shared_begin + address);
}

void fail(const char* expectation) {
  std::fprintf(stderr, "emulated CUDA expects %s\n", expectation);
  std::abort();
}

void run(dim3 grid, dim3 size, const std::function<void()>& kernel) {
  const int threads = static_cast<int>(size.x);
  require(threads % kWarpSize == 0, "blocks of whole warps");
  here = &block();
  while (here->fibers.size() < size.x) here->fibers.push_back(make_fiber());
  here->kernel = &kernel;
  blockDim = size;
  gridDim = grid;
  for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i) {
    blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
    run_block(threads);
  }
}

}  // namespace emulated_cuda
