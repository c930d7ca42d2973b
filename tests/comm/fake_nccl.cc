// Stands in for libnccl.so.2: the functions that Strata uses, over MPI and host memory, as work on
// DeferredStreams. Sums are in rank order, so that they have the same bits as Communicator's.
#include <mpi.h>

#include <cstring>
#include <deque>
#include <vector>

#include "comm/rank_order_sum.h"
#include "tests/comm/nccl_types.h"
#include "tests/support/deferred_backend.h"

namespace {

using strata::comm::bytes_of;
using strata::comm::dtype_of;

int collectives = 0;
int all_reduces = 0;
int messages = 0;  // number of messages sent
bool refuses = false;
int max_ctas = 0;  // limit of the latest communicator; 0: not set

template <typename Work>
ncclResult_t enqueue(cudaStream_t stream, const Work& work) {
  auto& deferred = *reinterpret_cast<strata::testing_support::DeferredStream*>(stream);
  // Capture would require that all ranks capture and launch it at the same time.
  if (deferred.captures()) return ncclInvalidUsage;
  ++collectives;
  deferred.enqueue(work);
  return ncclSuccess;
}

// Returns the sum of `data` over ranks.
std::vector<char> sum(const ncclComm& comm, const void* data, size_t count, ncclDataType_t type) {
  const size_t bytes = bytes_of(count, type);
  std::vector<char> parts(bytes * static_cast<size_t>(comm.size)), result(bytes);
  MPI_Allgather(data, static_cast<int>(bytes), MPI_BYTE, parts.data(), static_cast<int>(bytes),
                MPI_BYTE, comm.ranks);
  strata::comm::sum_in_rank_order(parts.data(), comm.size, static_cast<int64_t>(count),
                                  dtype_of(type), result.data());
  return result;
}

}  // namespace

extern "C" {

// Number of collectives, of all-reduces among them, and of messages sent.
int fakeNcclCollectives() { return collectives; }
int fakeNcclAllReduces() { return all_reduces; }
int fakeNcclMessages() { return messages; }
// The thread-block limit of the latest communicator, or 0.
int fakeNcclMaxCtas() { return max_ctas; }

// Makes connections and collectives fail, as if two ranks had the same GPU.
void fakeNcclRefuse(bool does) { refuses = does; }

const char* ncclGetErrorString(ncclResult_t error) {
  return error == ncclInvalidUsage ? "invalid usage" : "no error";
}
const char* ncclGetLastError(ncclComm_t) { return refuses ? "Duplicate GPU detected" : ""; }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = refuses ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 7, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (refuses) return ncclInvalidUsage;
  max_ctas = 0;
  *comm = new ncclComm;
  MPI_Comm_dup(MPI_COMM_WORLD, &(*comm)->ranks);
  MPI_Comm_rank((*comm)->ranks, &(*comm)->rank);
  MPI_Comm_size((*comm)->ranks, &(*comm)->size);
  const bool right = id.internal[0] == 7 && (*comm)->rank == rank && (*comm)->size == ranks;
  return right ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const ncclConfig_t defaults = NCCL_CONFIG_INITIALIZER;
  const bool initialized = config->size == defaults.size && config->magic == defaults.magic &&
                           config->blocking == defaults.blocking;
  if (!initialized) return ncclInvalidArgument;
  const ncclResult_t made = ncclCommInitRank(comm, ranks, id, rank);
  max_ctas = config->maxCTAs;
  return made;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  MPI_Comm_free(&comm->ranks);
  delete comm;
  return ncclSuccess;
}

// May be called at any time.
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  if (operation == ncclMax && type != ncclFloat32) return ncclInvalidArgument;
  ++all_reduces;
  return enqueue(stream, [=] {
    if (operation == ncclMax) {
      MPI_Allreduce(from == to ? MPI_IN_PLACE : from, to, static_cast<int>(count), MPI_FLOAT,
                    MPI_MAX, comm->ranks);
      return;
    }
    const std::vector<char> all = sum(*comm, from, count, type);
    std::memcpy(to, all.data(), all.size());
  });
}

// `count` is the size of one shard.
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(stream, [=] {
    const auto ranks = static_cast<size_t>(comm->size), rank = static_cast<size_t>(comm->rank);
    const std::vector<char> all = sum(*comm, from, count * ranks, type);
    const size_t slice = bytes_of(count, type);
    std::memcpy(to, all.data() + rank * slice, slice);
  });
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(stream, [=] {
    const int bytes = static_cast<int>(bytes_of(count, type));
    std::vector<char> mine(static_cast<size_t>(bytes));
    std::memcpy(mine.data(), from, mine.size());
    MPI_Allgather(mine.data(), bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm->ranks);
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(stream, [=] {
    if (to != from) std::memcpy(to, from, bytes_of(count, type));
    MPI_Bcast(to, static_cast<int>(bytes_of(count, type)), MPI_BYTE, root, comm->ranks);
  });
}

// Sent data is copied when the work runs, without waiting. Receiving is retried, so that other
// streams can proceed.
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  ++messages;
  return enqueue(stream, [=] {
    static std::deque<std::vector<char>> sent;  // kept until the process ends
    const auto* bytes = static_cast<const char*>(from);
    const std::vector<char>& copy = sent.emplace_back(bytes, bytes + count);
    MPI_Request request;
    MPI_Isend(copy.data(), static_cast<int>(count), MPI_BYTE, peer, 0, comm->ranks, &request);
    MPI_Request_free(&request);
  });
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  auto& deferred = *reinterpret_cast<strata::testing_support::DeferredStream*>(stream);
  if (deferred.captures()) return ncclInvalidUsage;
  deferred.enqueue_until_done([=] {
    int arrived = 0;
    MPI_Iprobe(peer, 0, comm->ranks, &arrived, MPI_STATUS_IGNORE);
    if (!arrived) return false;
    MPI_Recv(to, static_cast<int>(count), MPI_BYTE, peer, 0, comm->ranks, MPI_STATUS_IGNORE);
    return true;
  });
  return ncclSuccess;
}

}  // extern "C"
