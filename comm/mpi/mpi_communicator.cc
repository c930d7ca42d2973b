#include <mpi.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/mpi/mpi_messages.h"
#include "comm/mpi/mpi_runtime.h"
#include "comm/rank_order_sum.h"
#include "comm/stall_watch.h"

namespace strata::comm {
namespace {

MPI_Datatype element_type(device::DType dtype) {
  switch (dtype) {
    case device::DType::kF64:
      return MPI_DOUBLE;
    case device::DType::kF32:
      return MPI_FLOAT;
    case device::DType::kBF16:
    case device::DType::kF16:
      return MPI_UINT16_T;
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;  // gradients are not FP8
  }
  return MPI_DATATYPE_NULL;
}

class MpiCommunicator final : public Communicator {
 public:
  // Takes ownership of `communicator`.
  MpiCommunicator(MPI_Comm communicator, std::shared_ptr<StallWatch> stall,
                  std::shared_ptr<Traffic> traffic)
      : communicator_(communicator), stall_(std::move(stall)), traffic_(std::move(traffic)) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }

  ~MpiCommunicator() override {
    // MPI_Comm_free is collective, and after an error the other ranks may not take part.
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // Works in pieces to keep MPI's int counts in range and to bound the scratch memory.
  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    if (size_ == 1) return;
    constexpr int64_t kPiece = int64_t{1} << 24;
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      char* piece = static_cast<char*>(data) + begin * static_cast<int64_t>(size_of(dtype));
      const int64_t size = std::min(kPiece, count - begin);
      reduce_scatter(piece, size, dtype, "an all-reduce");
      gather(piece, size, dtype, "an all-reduce");
    }
  }

  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    if (size_ > 1) reduce_scatter(data, count, dtype, "a reduce-scatter");
  }

  void all_gather(void* data, int64_t count, device::DType dtype) override {
    if (size_ > 1) gather(data, count, dtype, "an all-gather");
  }

  void accumulate(const Accumulation& accumulation) override { accumulation_ = accumulation; }

  void end_job_after(double stall_seconds) override { stall_->set_limit(stall_seconds); }
  void end_job(std::string_view message) override { end_mpi_job(message); }
  std::shared_ptr<device::HostWaits> device_waits() override {
    return {stall_, &stall_->device_waits()};
  }

  void all_reduce_sum(std::span<int64_t> values) override {
    all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_SUM);
  }

  void all_reduce_max(std::span<float> values) override {
    all_reduce(values.data(), values.size(), MPI_FLOAT, MPI_MAX);
  }

  void broadcast(void* data, size_t bytes, int root) override {
    constexpr size_t kPiece = size_t{1} << 28;
    for (size_t begin = 0; begin < bytes; begin += kPiece) {
      MPI_Request request;
      MPI_Ibcast(static_cast<char*>(data) + begin,
                 static_cast<int>(std::min(kPiece, bytes - begin)), MPI_BYTE, root, communicator_,
                 &request);
      wait_for(request, "a broadcast", *stall_);
    }
  }

  void barrier() override {
    MPI_Request request;
    MPI_Ibarrier(communicator_, &request);
    wait_for(request, "a barrier", *stall_);
  }

  std::vector<std::pair<std::string, std::string>> library_versions() const override {
    return {{"MPI", mpi_name()}};
  }
  std::unique_ptr<Communicator> duplicate() override {
    MPI_Comm copy;
    MPI_Request request;
    MPI_Comm_idup(communicator_, &copy, &request);
    wait_for(request, "a duplication of a communicator", *stall_);
    return std::make_unique<MpiCommunicator>(copy, stall_, traffic_);
  }
  std::unique_ptr<Communicator> split(int color) override {
    barrier();  // sleeps while it waits, and ends the job if a rank hangs
    MPI_Comm part;
    MPI_Comm_split(communicator_, color, rank_, &part);
    return std::make_unique<MpiCommunicator>(part, stall_, traffic_);
  }
  std::unique_ptr<Messages> make_messages() override {
    MPI_Comm copy;
    MPI_Request request;
    MPI_Comm_idup(communicator_, &copy, &request);
    wait_for(request, "a duplication of a communicator", *stall_);
    return make_mpi_messages(copy, stall_, traffic_);
  }

  Traffic* traffic() override { return traffic_.get(); }

 private:
  // Every rank gathers all ranks' parts of its shard and sums them once in rank order, so that
  // results have the same bits whatever MPI does. Together with all_gather this sends as much as a
  // ring all-reduce. `operation` is the collective that calls it.
  void reduce_scatter(void* data, int64_t count, device::DType dtype, const char* operation) {
    const Shards shards = all_shards(count);
    const int mine = shards.counts[rank_];
    const std::vector<int> part_counts(size_, mine);
    std::vector<int> part_begins(size_);
    for (int rank = 0; rank < size_; ++rank) part_begins[rank] = rank * mine;
    parts_.resize(std::max(parts_.size(), static_cast<size_t>(mine) * size_ * size_of(dtype)));
    MPI_Request request;
    MPI_Ialltoallv(data, shards.counts.data(), shards.begins.data(), element_type(dtype),
                   parts_.data(), part_counts.data(), part_begins.data(), element_type(dtype),
                   communicator_, &request);
    wait_for(request, operation, *stall_);
    traffic_->add_reduce_scatter(count, dtype, rank_, size_);
    sum_in_rank_order(
        parts_.data(), size_, mine, dtype,
        static_cast<char*>(data) + static_cast<size_t>(shards.begins[rank_]) * size_of(dtype),
        accumulation_);
  }

  void gather(void* data, int64_t count, device::DType dtype, const char* operation) {
    const Shards shards = all_shards(count);
    MPI_Request request;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, shards.counts.data(),
                    shards.begins.data(), element_type(dtype), communicator_, &request);
    wait_for(request, operation, *stall_);
    traffic_->add_all_gather(count, dtype, rank_, size_);
  }

  void all_reduce(void* values, size_t count, MPI_Datatype type, MPI_Op operation) {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, operation, communicator_,
                   &request);
    wait_for(request, "an all-reduce", *stall_);
  }

  // The shards of all ranks, in the form that MPI takes.
  struct Shards {
    std::vector<int> begins, counts;
  };
  Shards all_shards(int64_t count) const {
    const int64_t most = std::numeric_limits<int>::max() - size_;
    if (count > most) {
      fail(
          "one exchange has {} elements, but MPI counts at most {}; use smaller buckets "
          "(reduce.bucket_megabytes)",
          count, most);
    }
    Shards shards;
    for (int rank = 0; rank < size_; ++rank) {
      const Range shard = shard_of(count, rank, size_);
      shards.begins.push_back(static_cast<int>(shard.begin));
      shards.counts.push_back(static_cast<int>(shard.size()));
    }
    return shards;
  }

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::shared_ptr<StallWatch> stall_;
  std::shared_ptr<Traffic> traffic_;
  Accumulation accumulation_;
  std::vector<char> parts_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  MPI_Comm world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  return std::make_unique<MpiCommunicator>(world, std::make_shared<StallWatch>(),
                                           std::make_shared<Traffic>());
}

}  // namespace strata::comm
