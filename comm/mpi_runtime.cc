#include "comm/mpi_runtime.h"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "base/processors.h"

namespace strata::comm {

bool launched_by_mpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE"}) {
    if (std::getenv(variable)) return true;
  }
  return false;
}

int launched_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* rank = std::getenv(variable)) return std::atoi(rank);
  }
  return 0;
}

namespace {

// Every rank's numbers.
std::vector<std::vector<int>> gather(const std::vector<int>& mine, MPI_Comm ranks) {
  int count = 0;
  MPI_Comm_size(ranks, &count);
  const auto size = static_cast<int>(mine.size());
  std::vector<int> sizes(static_cast<size_t>(count)), begins(sizes.size());
  MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, ranks);
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
  std::vector<int> all(static_cast<size_t>(begins.back() + sizes.back()));
  MPI_Allgatherv(mine.data(), size, MPI_INT, all.data(), sizes.data(), begins.data(), MPI_INT,
                 ranks);
  std::vector<std::vector<int>> of_ranks;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto begin = all.begin() + begins[rank];
    of_ranks.emplace_back(begin, begin + sizes[rank]);
  }
  return of_ranks;
}

}  // namespace

MpiRuntime::MpiRuntime() : exceptions_at_start_(std::uncaught_exceptions()) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    fail("this MPI library does not serve several threads (MPI_THREAD_MULTIPLE): use Open MPI 4.1");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &local_rank_);
  MPI_Comm_size(machine, &local_size_);
  local_affinities_ = gather(affinity(), machine);
  MPI_Comm_free(&machine);
}

MpiRuntime::~MpiRuntime() {
  if (size_ > 1 && std::uncaught_exceptions() > exceptions_at_start_) {
    abort("stopped by an error", 2);
  }
  // A rank that exits with an error has the launcher kill the others, which are past this by then.
  std::fflush(nullptr);
  MPI_Finalize();
}

void MpiRuntime::abort(std::string_view message, int exit_code) const {
  print_to_stderr("strata: rank {}: {}\n", rank_, message);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace strata::comm
