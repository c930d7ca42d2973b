#include "comm/mpi_runtime.h"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"

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
  fmt::print(stderr, "strata: rank {}: {}\n", rank_, message);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace strata::comm
