#include "device/cuda/host/nccl_collectives.h"

#include "base/error.h"
#include "base/range.h"

#ifndef STRATA_NCCL

namespace strata::device::cuda {

std::unique_ptr<Collectives> make_nccl_collectives(const RankGroup&, void*) {
  fail("NCCL is not in this build: configure it where nccl.h is installed, or set NCCL_HOME");
}

}  // namespace strata::device::cuda

#else

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "device/cuda/host/shared_library.h"

namespace strata::device::cuda {
namespace {

// The functions of NCCL that are used here.
class Nccl {
 public:
  decltype(&::ncclGetErrorString) error_string;
  decltype(&::ncclGetLastError) last_error;
  decltype(&::ncclCommGetAsyncError) get_async_error;
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
    if (status != ncclSuccess) fail("NCCL: {} failed: {}", attempt, reason(status));
  }

  // Returns the name of the error, with NCCL's own text of its last error if there is one.
  std::string reason(ncclResult_t status) const {
    const char* const detail = last_error(nullptr);
    return detail && *detail ? fmt::format("{} ({})", error_string(status), detail)
                             : error_string(status);
  }

 private:
  Nccl() {
    const SharedLibrary library({"libnccl.so.2"}, "several ranks on GPUs need NCCL");
    library.find(error_string, "ncclGetErrorString");
    library.find(last_error, "ncclGetLastError");
    library.find(get_async_error, "ncclCommGetAsyncError");
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
      break;  // gradients are never FP8
  }
  return ncclFloat32;
}

// Data that ranks exchange before NCCL connects them.
struct Introduction {
  ncclUniqueId id;  // rank 0's is used
  char device[256];
};
static_assert(sizeof(Introduction) % 16 == 0);  // requirement of RankGroup::all_gather

// Returns "; ranks 0 and 1 both use ..." if two ranks have the same device, which NCCL refuses.
std::string shared_devices(const std::vector<Introduction>& ranks) {
  std::map<std::string, int> first_ranks;
  std::string text;
  for (int rank = 0; rank < std::ssize(ranks); ++rank) {
    const std::string device = ranks[static_cast<size_t>(rank)].device;
    if (device.empty()) continue;
    const auto [first, is_new] = first_ranks.emplace(device, rank);
    if (!is_new) text += fmt::format("; ranks {} and {} both use {}", first->second, rank, device);
  }
  return text.empty() ? text
                      : text + "; start one rank for each GPU, and make that GPU visible to it";
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const RankGroup& group, void* stream)
      : nccl_(Nccl::get()),
        rank_(group.rank),
        ranks_(group.size),
        stream_(static_cast<cudaStream_t>(stream)),
        waits_(group.waits) {
    std::vector<Introduction> introductions(static_cast<size_t>(ranks_));
    Introduction& mine = introductions[static_cast<size_t>(rank_)];
    if (rank_ == 0) nccl_.check(nccl_.get_unique_id(&mine.id), "starting");
    group.device.copy(mine.device, sizeof mine.device - 1);
    group.all_gather(introductions.data(), sizeof mine);

    const HostWait wait(waits_.get(), "NCCL's start");
    const ncclResult_t status = connect(introductions.front().id, group.max_ctas);
    if (status != ncclSuccess) {
      fail("NCCL: connecting the ranks failed: {}{}", nccl_.reason(status),
           shared_devices(introductions));
    }
    if (waits_) check_ = waits_->add_check([this] { return asynchronous_error(); });
  }
  // NCCL's destruction waits for other ranks, which may never come after an error of this rank.
  ~NcclCollectives() override {
    if (waits_) waits_->remove_check(check_);
    const HostWait wait(waits_.get(), "NCCL's end");
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
        // Over all ranks, because NCCL also has trees for this, but only a ring for reduction to
        // one rank.
        [&] {
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
    const HostWait wait(waits_.get(), kLaunch);
    nccl_.check(nccl_.send(data, bytes, ncclUint8, to, communicator_, stream_), "sending");
  }
  void receive(void* data, size_t bytes, int from) override {
    const HostWait wait(waits_.get(), kLaunch);
    nccl_.check(nccl_.receive(data, bytes, ncclUint8, from, communicator_, stream_), "receiving");
  }

 private:
  // NCCL may connect ranks in the first collective of a kind, and blocks while the queue is full.
  static constexpr char kLaunch[] = "a launch of NCCL";

  // Returns the reason why a started collective will never end, or an empty string. Thread-safe.
  std::string asynchronous_error() const {
    ncclResult_t error = ncclSuccess;
    nccl_.get_async_error(communicator_, &error);
    if (error == ncclSuccess || error == ncclInProgress) return {};
    return fmt::format("NCCL: a collective failed: {}", nccl_.reason(error));
  }

  ncclResult_t connect(const ncclUniqueId& id, int max_ctas) {
    if (max_ctas == 0) return nccl_.init_rank(&communicator_, ranks_, id, rank_);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = max_ctas;
    return nccl_.init_rank_config(&communicator_, ranks_, id, rank_, &config);
  }

  void all_reduce(void* data, int64_t count, DType dtype, ncclRedOp_t operation) {
    const HostWait wait(waits_.get(), kLaunch);
    nccl_.check(nccl_.all_reduce(data, data, static_cast<size_t>(count), element_type(dtype),
                                 operation, communicator_, stream_),
                "an all-reduce");
  }

  // Equal shards of `each` elements per rank, and the remainder of the last rank; see shard_of.
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

  // One collective takes the equal shards. A second one takes the remainder, in the same launch.
  template <typename OfShards, typename OfRest>
  void grouped(const Shards& shards, const char* attempt, const OfShards& of_shards,
               const OfRest& of_rest) {
    const HostWait wait(waits_.get(), kLaunch);
    const bool both = shards.each > 0 && shards.left > 0;
    if (both) nccl_.check(nccl_.group_start(), attempt);
    if (shards.each > 0) nccl_.check(of_shards(), attempt);
    if (shards.left > 0) nccl_.check(of_rest(), attempt);
    if (both) nccl_.check(nccl_.group_end(), attempt);
  }

  const Nccl& nccl_;
  int rank_, ranks_;
  cudaStream_t stream_;
  std::shared_ptr<HostWaits> waits_;
  ncclComm_t communicator_ = nullptr;
  int check_ = 0;  // id in waits_
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const RankGroup& group, void* stream) {
  return std::make_unique<NcclCollectives>(group, stream);
}

}  // namespace strata::device::cuda

#endif
