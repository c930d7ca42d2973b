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
  decltype(&::ncclCommInitRankConfig) init_rank_config;
  decltype(&::ncclCommDestroy) destroy;
  decltype(&::ncclCommAbort) abort;
  decltype(&::ncclGroupStart) group_start;
  decltype(&::ncclGroupEnd) group_end;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclReduceScatter) reduce_scatter;
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
    library.find(init_rank_config, "ncclCommInitRankConfig");
    library.find(destroy, "ncclCommDestroy");
    library.find(abort, "ncclCommAbort");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(all_reduce, "ncclAllReduce");
    library.find(reduce_scatter, "ncclReduceScatter");
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
    nccl_.check(connect(id, group.max_ctas), "connecting the ranks");
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
    const Shards shards = shards_of(data, count, dtype);
    grouped(
        shards, "a reduce-scatter",
        [&] {
          return nccl_.reduce_scatter(data, shards.mine, shards.each, element_type(dtype), ncclSum,
                                      communicator_, stream_);
        },
        [&] {  // of all ranks: NCCL reduces to one rank in a ring alone, to all also by trees
          return nccl_.all_reduce(shards.rest, shards.rest, shards.left, element_type(dtype),
                                  ncclSum, communicator_, stream_);
        });
  }

  void all_gather(void* data, int64_t count, DType dtype) override {
    const Shards shards = shards_of(data, count, dtype);
    grouped(
        shards, "an all-gather",
        [&] {
          return nccl_.all_gather(shards.mine, data, shards.each, element_type(dtype),
                                  communicator_, stream_);
        },
        [&] {
          return nccl_.broadcast(shards.rest, shards.rest, shards.left, element_type(dtype),
                                 ranks_ - 1, communicator_, stream_);
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
  ncclResult_t connect(const ncclUniqueId& id, int max_ctas) {
    if (max_ctas == 0) return nccl_.init_rank(&communicator_, ranks_, id, rank_);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = max_ctas;
    return nccl_.init_rank_config(&communicator_, ranks_, id, rank_, &config);
  }

  void all_reduce(void* data, int64_t count, DType dtype, ncclRedOp_t operation) {
    nccl_.check(nccl_.all_reduce(data, data, static_cast<size_t>(count), element_type(dtype),
                                 operation, communicator_, stream_),
                "an all-reduce");
  }

  // See shard_of: `each` elements a rank, and what the last rank has beyond them.
  struct Shards {
    char* mine;
    size_t each;
    char* rest;
    size_t left;
  };
  Shards shards_of(void* data, int64_t count, DType dtype) const {
    const auto address = [&](int64_t element) {
      return static_cast<char*>(data) + element * static_cast<int64_t>(size_of(dtype));
    };
    const int64_t each = shard_of(count, 0, ranks_).size();
    return {address(each * rank_), static_cast<size_t>(each), address(each * ranks_),
            static_cast<size_t>(count - each * ranks_)};
  }

  // Equal shards go by one collective; what is left goes with them, in one launch.
  template <typename OfShards, typename OfRest>
  void grouped(const Shards& shards, const char* attempt, const OfShards& of_shards,
               const OfRest& of_rest) {
    const bool both = shards.each > 0 && shards.left > 0;
    if (both) nccl_.check(nccl_.group_start(), attempt);
    if (shards.each > 0) nccl_.check(of_shards(), attempt);
    if (shards.left > 0) nccl_.check(of_rest(), attempt);
    if (both) nccl_.check(nccl_.group_end(), attempt);
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
