#include "data/loading/batch_loader.h"

#include <utility>

#include "base/error.h"
#include "base/threads/start_thread.h"

namespace strata::data {

BatchLoader::BatchLoader(const InstanceSource& source, NextSamples next_samples, size_t depth)
    : source_(source), next_samples_(std::move(next_samples)), depth_(depth) {
  if (depth_ == 0) fail("the batch loader's depth is 0; it must be 1 or more");
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BatchLoader::start() {
  if (thread_.joinable()) return;
  thread_ = start_thread("cannot start a thread that reads batches", [this] { run(); });
}

bool BatchLoader::next(PackedBatch& batch) {
  if (!thread_.joinable()) fail("the batch loader was asked for a batch before it was started");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (!ready_.empty()) {
    std::swap(batch, ready_.front());
    spare_.push_back(std::move(ready_.front()));
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return true;
  }
  if (error_) std::rethrow_exception(error_);
  return false;
}

void BatchLoader::run() {
  std::exception_ptr error;
  try {
    produce();
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    finished_ = true;
  }
  changed_.notify_all();
}

void BatchLoader::produce() {
  std::vector<uint32_t> samples;
  for (;;) {
    PackedBatch batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
      if (stopping_) return;
      if (!spare_.empty()) {
        batch = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    samples.clear();
    if (!next_samples_(samples)) return;
    source_.read(samples, batch);
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(batch));
    }
    changed_.notify_all();
  }
}

}  // namespace strata::data
