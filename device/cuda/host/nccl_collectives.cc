#include "device/cuda/host/nccl_collectives.h"

#include "base/error.h"
#include "base/range.h"

#ifndef STRATA_NCCL

namespace strata::device::cuda {

std::unique_ptr<Collectives> make_nccl_collectives(const RankGroup&, void*) {
  fail("NCCL is not in this build: configure where nccl.h is found, or set NCCL_HOME");
}

}  // namespace strata::device::cuda

#else

#include <nccl.h>

#include <exception>

#include "device/cuda/host/shared_library.h"

namespace strata::device::cuda {
namespace {

// The functions of the library that are used here.
class Nccl {
 public:
  decltype(&::ncclGetErrorString) error_string;
  decltype(&::ncclGetUniqueId) get_unique_id;
  decltype(&::ncclCommInitRank) init_rank;
  decltype(&::ncclCommDestroy) destroy;
  decltype(&::ncclCommAbort) abort;
  decltype(&::ncclGroupStart) group_start;
  decltype(&::ncclGroupEnd) group_end;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclReduceScatter) reduce_scatter;
  decltype(&::ncclReduce) reduce;
  decltype(&::ncclAllGather) all_gather;
  decltype(&::ncclBroadcast) broadcast;
  decltype(&::ncclSend) send;
  decltype(&::ncclRecv) receive;

  static const Nccl& get() {
    static const Nccl nccl;
    return nccl;
  }

  void check(ncclResult_t status, const char* attempt) const {
    if (status != ncclSuccess) fail("NCCL: {} failed: {}", attempt, error_string(status));
  }

 private:
  Nccl() {
    const SharedLibrary library({"libnccl.so.2"}, "several ranks on GPUs need NCCL");
    library.find(error_string, "ncclGetErrorString");
    library.find(get_unique_id, "ncclGetUniqueId");
    library.find(init_rank, "ncclCommInitRank");
    library.find(destroy, "ncclCommDestroy");
    library.find(abort, "ncclCommAbort");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(all_reduce, "ncclAllReduce");
    library.find(reduce_scatter, "ncclReduceScatter");
    library.find(reduce, "ncclReduce");
    library.find(all_gather, "ncclAllGather");
    library.find(broadcast, "ncclBroadcast");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
  }
};

ncclDataType_t element_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ncclFloat64;
    case DType::kF32:
      return ncclFloat32;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kF16:
      return ncclFloat16;
    case DType::kE4M3:
    case DType::kE5M2:
      break;  // gradients are not FP8
  }
  return ncclFloat32;
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const RankGroup& group, void* stream)
      : nccl_(Nccl::get()),
        rank_(group.rank),
        ranks_(group.size),
        stream_(static_cast<cudaStream_t>(stream)) {
    ncclUniqueId id;
    if (rank_ == 0) nccl_.check(nccl_.get_unique_id(&id), "starting");
    group.broadcast(&id, sizeof id);
    nccl_.check(nccl_.init_rank(&communicator_, ranks_, id, rank_), "connecting the ranks");
  }
  // Destruction waits for the other ranks, which an error of this one may keep from coming.
  ~NcclCollectives() override {
    if (std::uncaught_exceptions() > 0) {
      nccl_.abort(communicator_);
    } else {
      nccl_.destroy(communicator_);
    }
  }

  void all_reduce_sum(void* data, int64_t count, DType dtype) override {
    all_reduce(data, count, dtype, ncclSum);
  }
  void all_reduce_max(float* data, int64_t count) override {
    all_reduce(data, count, DType::kF32, ncclMax);
  }

  void reduce_scatter_sum(void* data, int64_t count, DType dtype) override {
    constexpr char kAttempt[] = "a reduce-scatter";
    if (count % ranks_ == 0) {
      const Part mine = part(data, count, rank_, dtype);
      nccl_.check(nccl_.reduce_scatter(data, mine.data, mine.count, element_type(dtype), ncclSum,
                                       communicator_, stream_),
                  kAttempt);
      return;
    }
    for_every_shard(data, count, dtype, kAttempt, [&](const Part& shard, int owner) {
      return nccl_.reduce(shard.data, shard.data, shard.count, element_type(dtype), ncclSum, owner,
                          communicator_, stream_);
    });
  }

  void all_gather(void* data, int64_t count, DType dtype) override {
    constexpr char kAttempt[] = "an all-gather";
    if (count % ranks_ == 0) {
      const Part mine = part(data, count, rank_, dtype);
      nccl_.check(nccl_.all_gather(mine.data, data, mine.count, element_type(dtype), communicator_,
                                   stream_),
                  kAttempt);
      return;
    }
    for_every_shard(data, count, dtype, kAttempt, [&](const Part& shard, int owner) {
      return nccl_.broadcast(shard.data, shard.data, shard.count, element_type(dtype), owner,
                             communicator_, stream_);
    });
  }

  bool has_messages() const override { return true; }
  void send(const void* data, size_t bytes, int to) override {
    nccl_.check(nccl_.send(data, bytes, ncclUint8, to, communicator_, stream_), "sending");
  }
  void receive(void* data, size_t bytes, int from) override {
    nccl_.check(nccl_.receive(data, bytes, ncclUint8, from, communicator_, stream_), "receiving");
  }

 private:
  void all_reduce(void* data, int64_t count, DType dtype, ncclRedOp_t operation) {
    nccl_.check(nccl_.all_reduce(data, data, static_cast<size_t>(count), element_type(dtype),
                                 operation, communicator_, stream_),
                "an all-reduce");
  }

  // A rank's shard of some data.
  struct Part {
    char* data;
    size_t count;
  };
  Part part(void* data, int64_t count, int rank, DType dtype) const {
    const Range shard = shard_of(count, rank, ranks_);
    return {static_cast<char*>(data) + shard.begin * static_cast<int64_t>(size_of(dtype)),
            static_cast<size_t>(shard.size())};
  }

  // NCCL's own collectives want shards of one size; others go as one group.
  template <typename Collective>
  void for_every_shard(void* data, int64_t count, DType dtype, const char* attempt,
                       const Collective& collective) {
    nccl_.check(nccl_.group_start(), attempt);
    for (int owner = 0; owner < ranks_; ++owner) {
      const Part shard = part(data, count, owner, dtype);
      if (shard.count > 0) nccl_.check(collective(shard, owner), attempt);
    }
    nccl_.check(nccl_.group_end(), attempt);
  }

  const Nccl& nccl_;
  int rank_, ranks_;
  cudaStream_t stream_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const RankGroup& group, void* stream) {
  return std::make_unique<NcclCollectives>(group, stream);
}

}  // namespace strata::device::cuda

#endif
