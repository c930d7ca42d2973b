#include "base/error.h"
#include "comm/device_communicator.h"

#ifndef STRATA_NCCL

namespace strata::comm {

std::unique_ptr<DeviceCommunicator> make_nccl_communicator(Communicator&, device::Backend&,
                                                           device::Stream) {
  fail("NCCL is not in this build: configure where nccl.h is found, or set NCCL_HOME");
}

}  // namespace strata::comm

#else

#include <dlfcn.h>
#include <nccl.h>

#include <cstring>
#include <exception>

namespace strata::comm {
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

  static const Nccl& get() {
    static const Nccl nccl;
    return nccl;
  }

  void check(ncclResult_t status, const char* attempt) const {
    if (status != ncclSuccess) fail("NCCL: {} failed: {}", attempt, error_string(status));
  }

 private:
  Nccl() {
    constexpr char kLibrary[] = "libnccl.so.2";
    void* library = ::dlopen(kLibrary, RTLD_NOW);
    if (!library) {
      fail(
          "several ranks on GPUs need NCCL: {}; install libnccl2 or put its folder in "
          "LD_LIBRARY_PATH",
          ::dlerror());
    }
    const auto find = [&](auto& function, const char* name) {
      void* symbol = ::dlsym(library, name);
      if (!symbol) fail("{}: has no {}; version 2 of NCCL is needed", kLibrary, name);
      std::memcpy(&function, &symbol, sizeof symbol);
    };
    find(error_string, "ncclGetErrorString");
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRank");
    find(destroy, "ncclCommDestroy");
    find(abort, "ncclCommAbort");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(all_reduce, "ncclAllReduce");
    find(reduce_scatter, "ncclReduceScatter");
    find(reduce, "ncclReduce");
    find(all_gather, "ncclAllGather");
    find(broadcast, "ncclBroadcast");
  }
};

ncclDataType_t element_type(device::DType dtype) {
  switch (dtype) {
    case device::DType::kF64:
      return ncclFloat64;
    case device::DType::kF32:
      return ncclFloat32;
    case device::DType::kBF16:
      return ncclBfloat16;
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;  // gradients are not of 8 bits
  }
  return ncclFloat32;
}

class NcclCommunicator final : public DeviceCommunicator {
 public:
  NcclCommunicator(Communicator& communicator, void* stream)
      : nccl_(Nccl::get()),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        stream_(static_cast<cudaStream_t>(stream)) {
    ncclUniqueId id;
    if (rank_ == 0) nccl_.check(nccl_.get_unique_id(&id), "starting");
    communicator.broadcast(&id, sizeof id, 0);
    nccl_.check(nccl_.init_rank(&communicator_, ranks_, id, rank_), "connecting the ranks");
  }
  // Destruction waits for the other ranks, which an error of this one may keep from coming.
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() > 0) {
      nccl_.abort(communicator_);
    } else {
      nccl_.destroy(communicator_);
    }
  }

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    all_reduce(data, count, dtype, ncclSum);
  }
  void all_reduce_max(float* data, int64_t count) override {
    all_reduce(data, count, device::DType::kF32, ncclMax);
  }

  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    constexpr char kAttempt[] = "a reduce-scatter";
    if (count % ranks_ == 0) {
      const Part mine = part(data, count, rank_, dtype);
      nccl_.check(nccl_.reduce_scatter(data, mine.data, mine.count, element_type(dtype), ncclSum,
                                       communicator_, stream_),
                  kAttempt);
      return;
    }
    for_every_slice(data, count, dtype, kAttempt, [&](const Part& slice, int owner) {
      return nccl_.reduce(slice.data, slice.data, slice.count, element_type(dtype), ncclSum, owner,
                          communicator_, stream_);
    });
  }

  void all_gather(void* data, int64_t count, device::DType dtype) override {
    constexpr char kAttempt[] = "an all-gather";
    if (count % ranks_ == 0) {
      const Part mine = part(data, count, rank_, dtype);
      nccl_.check(nccl_.all_gather(mine.data, data, mine.count, element_type(dtype), communicator_,
                                   stream_),
                  kAttempt);
      return;
    }
    for_every_slice(data, count, dtype, kAttempt, [&](const Part& slice, int owner) {
      return nccl_.broadcast(slice.data, slice.data, slice.count, element_type(dtype), owner,
                             communicator_, stream_);
    });
  }

 private:
  void all_reduce(void* data, int64_t count, device::DType dtype, ncclRedOp_t operation) {
    nccl_.check(nccl_.all_reduce(data, data, static_cast<size_t>(count), element_type(dtype),
                                 operation, communicator_, stream_),
                "an all-reduce");
  }

  // A rank's slice of some data.
  struct Part {
    char* data;
    size_t count;
  };
  Part part(void* data, int64_t count, int rank, device::DType dtype) const {
    const Slice slice = slice_of(count, rank, ranks_);
    return {static_cast<char*>(data) + slice.begin * static_cast<int64_t>(size_of(dtype)),
            static_cast<size_t>(slice.size())};
  }

  // NCCL's own collectives want slices of one size; others go as one group.
  template <typename Collective>
  void for_every_slice(void* data, int64_t count, device::DType dtype, const char* attempt,
                       const Collective& collective) {
    nccl_.check(nccl_.group_start(), attempt);
    for (int owner = 0; owner < ranks_; ++owner) {
      const Part slice = part(data, count, owner, dtype);
      if (slice.count > 0) nccl_.check(collective(slice, owner), attempt);
    }
    nccl_.check(nccl_.group_end(), attempt);
  }

  const Nccl& nccl_;
  int rank_, ranks_;
  cudaStream_t stream_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceCommunicator> make_nccl_communicator(Communicator& communicator,
                                                           device::Backend& backend,
                                                           device::Stream stream) {
  return std::make_unique<NcclCommunicator>(communicator, backend.cuda_stream(stream));
}

}  // namespace strata::comm

#endif
