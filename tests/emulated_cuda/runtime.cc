// Blocks of threads as fibers that take turns.
#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated_cuda {
namespace {

constexpr int kWarpSize = 32;
constexpr size_t kStackBytes = 128 << 10;

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

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(kStackBytes);
  bool ended = false;
};

struct Block {
  const std::function<void()>* kernel = nullptr;
  ucontext_t scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;  // kept from block to block
  Barrier threads;
  std::vector<Barrier> warps;
  std::vector<const void*> shown;  // a value of every thread
  int current = 0;
  bool progress = false;
};

thread_local Block block;

int warp() { return block.current / kWarpSize; }

void yield() {
  swapcontext(&block.fibers[static_cast<size_t>(block.current)]->context, &block.scheduler);
}

void wait_at(Barrier& barrier) {
  const uint64_t passed = barrier.passed;
  barrier.arrive();
  while (barrier.passed == passed) yield();
  block.progress = true;
}

void run_fiber() {
  (*block.kernel)();
  block.fibers[static_cast<size_t>(block.current)]->ended = true;
  block.threads.leave();
  block.warps[static_cast<size_t>(warp())].leave();
  block.progress = true;
  yield();
}

void start_fiber(Fiber& fiber) {
  fiber.ended = false;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_fiber, 0);
}

void run_block(int threads) {
  block.threads = {.members = threads};
  block.warps.assign(static_cast<size_t>(threads / kWarpSize), Barrier{.members = kWarpSize});
  for (int i = 0; i < threads; ++i) start_fiber(*block.fibers[static_cast<size_t>(i)]);
  for (int left = threads; left > 0;) {
    block.progress = false;
    left = 0;
    for (block.current = 0; block.current < threads; ++block.current) {
      Fiber& fiber = *block.fibers[static_cast<size_t>(block.current)];
      if (fiber.ended) continue;
      threadIdx = dim3(static_cast<unsigned>(block.current));
      swapcontext(&block.scheduler, &fiber.context);
      left += fiber.ended ? 0 : 1;
    }
    if (left > 0 && !block.progress) {
      std::fprintf(stderr, "emulated CUDA: the threads of a block wait for each other for ever\n");
      std::abort();
    }
  }
}

}  // namespace

int lane() { return block.current % kWarpSize; }

void sync_threads() { wait_at(block.threads); }

void sync_warp() { wait_at(block.warps[static_cast<size_t>(warp())]); }

void show(const void* mine) { block.shown[static_cast<size_t>(block.current)] = mine; }

const void* shown_by(int lane) {
  return block.shown[static_cast<size_t>(warp() * kWarpSize + lane)];
}

void run(dim3 grid, dim3 size, const std::function<void()>& kernel) {
  const int threads = static_cast<int>(size.x);
  if (threads % kWarpSize != 0) {
    std::fprintf(stderr, "emulated CUDA: a block of %d threads has a warp in part\n", threads);
    std::abort();
  }
  while (block.fibers.size() < size.x) block.fibers.push_back(std::make_unique<Fiber>());
  block.shown.resize(std::max<size_t>(block.shown.size(), size.x));
  block.kernel = &kernel;
  blockDim = size;
  gridDim = grid;
  for (unsigned i = 0; i < grid.x; ++i) {
    blockIdx = dim3(i);
    run_block(threads);
  }
}

}  // namespace emulated_cuda
