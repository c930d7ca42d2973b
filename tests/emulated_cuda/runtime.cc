// Blocks of threads as fibers that take turns.
#include <cuda_runtime.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated_cuda {

thread_local uint64_t ticks = 0;

namespace {

constexpr int kWarpSize = 32;
constexpr size_t kStackBytes = 128 << 10;
constexpr uintptr_t kSharedBytes = 256 << 10;

// Lets a group of threads go on when all that have not ended are here.
struct Barrier {
  int members = 0;
  int arrived = 0;
  uint64_t passed = 0;  // how often all have been here

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

// A stack that runs one thread of the block, then one of the next. The first switch to it is by
// setcontext, later ones are jumps: they make no system calls.
struct Fiber {
  std::vector<char> stack = std::vector<char>(kStackBytes);
  std::vector<Copy> copies;  // on their way
  bool published = true;     // those that have arrived
  bool may_multiply = false;
  uint32_t products_begun = 0;
  std::vector<std::function<void()>> products;
  jmp_buf place;
  bool started = false;
  bool ended = false;
};

struct Block {
  const std::function<void()>* kernel = nullptr;
  jmp_buf scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;  // kept from block to block
  Barrier threads;
  std::vector<Barrier> warps;
  std::vector<const void*> shown;  // a value of every thread
  uintptr_t shared_begin = 0;      // the address of shared memory's first byte
  int current = 0;
  bool progress = false;  // of the warp that runs
  bool got_on = false;    // of any warp since all had a turn
};

thread_local Block block;

int warp() { return block.current / kWarpSize; }

Fiber& fiber() { return *block.fibers[static_cast<size_t>(block.current)]; }

void yield() {
  if (_setjmp(fiber().place) == 0) _longjmp(block.scheduler, 1);
}

void wait_at(Barrier& barrier) {
  const uint64_t passed = barrier.passed;
  barrier.arrive();
  ++ticks;
  while (barrier.passed == passed) yield();
  block.progress = true;
}

void run_fiber() {
  for (;;) {
    (*block.kernel)();
    require(fiber().copies.empty(), "a thread to end after its copies");
    require(fiber().products.empty(), "a thread to end after its products");
    fiber().ended = true;
    ++ticks;
    block.threads.leave();
    block.warps[static_cast<size_t>(warp())].leave();
    block.progress = true;
    yield();
  }
}

// Those that the current fiber has not made yet.
void make_products() {
  const auto products = std::exchange(fiber().products, {});
  for (const auto& product : products) product();
}

// Runs the current fiber until it yields.
void resume() {
  if (_setjmp(block.scheduler) != 0) return;
  if (fiber().started) _longjmp(fiber().place, 1);
  fiber().started = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber().stack.data();
  context.uc_stack.ss_size = fiber().stack.size();
  context.uc_link = nullptr;
  makecontext(&context, run_fiber, 0);
  setcontext(&context);
}

// Runs the threads of a warp for as long as they get anywhere without the other warps. Returns how
// many have not ended.
int run_warp(int number) {
  int left = 0;
  for (bool progress = true; progress;) {
    block.progress = false;
    left = 0;
    for (int lane_number = 0; lane_number < kWarpSize; ++lane_number) {
      block.current = number * kWarpSize + lane_number;
      if (fiber().ended) continue;
      threadIdx = dim3(static_cast<unsigned>(block.current));
      resume();
      left += fiber().ended ? 0 : 1;
    }
    progress = block.progress && left > 0;
    block.got_on |= block.progress;
  }
  return left;
}

// Warps take turns in an order that changes all the time, each as far as it gets: one that runs
// ahead of another where nothing holds it back spoils what the other has yet to read.
void run_block(int threads) {
  block.threads = {.members = threads};
  block.warps.assign(static_cast<size_t>(threads / kWarpSize), Barrier{.members = kWarpSize});
  for (int i = 0; i < threads; ++i) block.fibers[static_cast<size_t>(i)]->ended = false;
  static thread_local std::mt19937 random;
  std::vector<int> warps(static_cast<size_t>(threads / kWarpSize));
  std::iota(warps.begin(), warps.end(), 0);
  for (int left = threads; left > 0;) {
    std::shuffle(warps.begin(), warps.end(), random);
    block.got_on = false;
    left = 0;
    for (const int number : warps) left += run_warp(number);
    require(left == 0 || block.got_on, "threads that do not wait for each other for ever");
  }
}

}  // namespace

int lane() { return block.current % kWarpSize; }

void sync_threads() { wait_at(block.threads); }

void sync_warp() { wait_at(block.warps[static_cast<size_t>(warp())]); }

void copy_later(void* to, const void* from, size_t bytes, size_t zeros) {
  static thread_local std::mt19937 coin;
  fiber().copies.push_back({to, from, bytes, zeros});
  if (coin() % 2 == 0) fiber().copies.back().happen();
}

void finish_copies() {
  fiber().published &= fiber().copies.empty();
  for (Copy& copy : fiber().copies) copy.happen();
  fiber().copies.clear();
}

void publish_copies() { fiber().published = true; }

void begin_products() { fiber().may_multiply = true; }

void multiply_later(std::function<void()> product) {
  require(fiber().may_multiply, "begin_products before products");
  for (unsigned i = 0; i < blockDim.x; ++i) {
    require(block.fibers[i]->published, "copies to be published before products");
  }
  fiber().products.push_back(std::move(product));
  // All threads of a warp decide alike.
  const uint32_t coin = (++fiber().products_begun + static_cast<uint32_t>(warp())) * 2654435761u;
  if (coin >> 31) make_products();
}

void finish_products() {
  make_products();
  fiber().may_multiply = false;
}

uint32_t shared_address(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (block.shared_begin == 0) block.shared_begin = (address - kSharedBytes / 2) & ~uintptr_t{1023};
  require(address - block.shared_begin < kSharedBytes, "shared memory of less than 128 KiB");
  return static_cast<uint32_t>(address - block.shared_begin);
}

const void* shared_memory(uint32_t address) {
  return reinterpret_cast<const void*>(block.shared_begin + address);
}

void require(bool holds, const char* expectation) {
  if (holds) return;
  std::fprintf(stderr, "emulated CUDA expects %s\n", expectation);
  std::abort();
}

void show(const void* mine) { block.shown[static_cast<size_t>(block.current)] = mine; }

const void* shown_by(int lane) {
  return block.shown[static_cast<size_t>(warp() * kWarpSize + lane)];
}

void run(dim3 grid, dim3 size, const std::function<void()>& kernel) {
  const int threads = static_cast<int>(size.x);
  require(threads % kWarpSize == 0, "blocks of whole warps");
  while (block.fibers.size() < size.x) block.fibers.push_back(std::make_unique<Fiber>());
  block.shown.resize(std::max<size_t>(block.shown.size(), size.x));
  block.kernel = &kernel;
  blockDim = size;
  gridDim = grid;
  for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i) {
    blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
    run_block(threads);
  }
}

}  // namespace emulated_cuda
