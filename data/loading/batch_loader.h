// Packs the next micro-batches on its own thread while the model computes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/files/instance_file.h"
#include "data/files/packed_batch.h"

namespace strata::data {

// Sets the samples of the next micro-batch, or returns false when there are no more. Called only on
// the loader's thread, one call at a time.
using NextSamples = std::function<bool(std::vector<uint32_t>& sample_indices)>;

// Has one producer thread and one consumer. Reads nothing before start().
class BatchLoader {
 public:
  // `source` and everything that `next_samples` refers to must outlive the loader. At most `depth`
  // packed micro-batches wait for the consumer.
  BatchLoader(const InstanceSource& source, NextSamples next_samples, size_t depth = 4);
  ~BatchLoader();  // stops the thread, even in the middle of a data set
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Starts reading ahead. Further calls have no effect.
  void start();

  // Waits for the next micro-batch and swaps it with `batch`, whose memory is reused. Returns false
  // after the last one. Rethrows an exception of the thread after the earlier micro-batches were
  // taken. Throws Error before start().
  bool next(PackedBatch& batch);

 private:
  void run();
  void produce();

  const InstanceSource& source_;
  NextSamples next_samples_;
  size_t depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PackedBatch> ready_;
  std::vector<PackedBatch> spare_;
  bool stopping_ = false;
  bool finished_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace strata::data
