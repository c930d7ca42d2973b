// Stands in for libnccl.so.2 with the emulated GPU: the collectives that Strata uses, over MPI and
// host memory, finished when they return. A process that MPI did not launch is a single rank.
#include <mpi.h>

#include <cstring>
#include <vector>

#include "comm/rank_order_sum.h"
#include "tests/comm/nccl_types.h"

namespace {

using strata::comm::bytes_of;
using strata::comm::dtype_of;

// Returns all ranks' `bytes` in rank order.
std::vector<char> gather(const ncclComm& comm, const void* from, size_t bytes) {
  std::vector<char> all(bytes * static_cast<size_t>(comm.size));
  if (comm.size == 1) {
    std::memcpy(all.data(), from, bytes);
  } else {
    MPI_Allgather(from, static_cast<int>(bytes), MPI_BYTE, all.data(), static_cast<int>(bytes),
                  MPI_BYTE, comm.ranks);
  }
  return all;
}

std::vector<char> sum(const ncclComm& comm, const void* from, size_t count, ncclDataType_t type) {
  const std::vector<char> parts = gather(comm, from, bytes_of(count, type));
  std::vector<char> result(bytes_of(count, type));
  strata::comm::sum_in_rank_order(parts.data(), comm.size, static_cast<int64_t>(count),
                                  dtype_of(type), result.data());
  return result;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t) { return "no error"; }
const char* ncclGetLastError(ncclComm_t) { return "no error"; }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 7, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId, int rank) {
  *comm = new ncclComm{.rank = rank, .size = ranks};
  if (ranks == 1) return ncclSuccess;
  MPI_Comm_dup(MPI_COMM_WORLD, &(*comm)->ranks);
  int world_rank = 0, world_size = 0;
  MPI_Comm_rank((*comm)->ranks, &world_rank);
  MPI_Comm_size((*comm)->ranks, &world_size);
  return world_rank == rank && world_size == ranks ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  return ncclCommInitRank(comm, ranks, id, rank);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->ranks != MPI_COMM_NULL) MPI_Comm_free(&comm->ranks);
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t) {
  if (operation == ncclMax) {
    if (type != ncclFloat32) return ncclInvalidArgument;
    if (from != to) std::memcpy(to, from, bytes_of(count, type));
    if (comm->size > 1) {
      MPI_Allreduce(MPI_IN_PLACE, to, static_cast<int>(count), MPI_FLOAT, MPI_MAX, comm->ranks);
    }
    return ncclSuccess;
  }
  const std::vector<char> all = sum(*comm, from, count, type);
  std::memcpy(to, all.data(), all.size());
  return ncclSuccess;
}

// `count` is the size of one shard.
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  const auto ranks = static_cast<size_t>(comm->size), rank = static_cast<size_t>(comm->rank);
  const std::vector<char> all = sum(*comm, from, count * ranks, type);
  const size_t slice = bytes_of(count, type);
  std::memcpy(to, all.data() + rank * slice, slice);
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  const std::vector<char> all = gather(*comm, from, bytes_of(count, type));
  std::memcpy(to, all.data(), all.size());
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t) {
  if (to != from) std::memcpy(to, from, bytes_of(count, type));
  if (comm->size > 1) {
    MPI_Bcast(to, static_cast<int>(bytes_of(count, type)), MPI_BYTE, root, comm->ranks);
  }
  return ncclSuccess;
}

// Pipelines are not tested here.
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}

}  // extern "C"
