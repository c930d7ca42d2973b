// MPI's initialisation and finalisation as one object, which ends the job if one rank fails.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace strata::comm {

// Returns true if a launcher (mpirun, srun) started this process, even as the only rank. Otherwise
// MPI is not needed and make_single_communicator() suffices.
bool launched_by_mpi();
// Returns this process's rank before MPI is initialised, from the launcher's variables; 0 without
// them.
int launched_rank();

// Returns the name and the number from the text of MPI_Get_library_version, for example "Open MPI
// v4.1.4" or "MPICH 4.2.1". The rest of the text, which may have many lines, tells how it was
// built.
std::string mpi_name(std::string_view library_version);
// The same for the MPI library of this process.
std::string mpi_name();

// Throws Error if the launcher's variables give more ranks than `size`, the number that MPI reports
// (1 if MPI was not started), because each process would then run as a single rank.
// Reads OMPI_COMM_WORLD_SIZE, MV2_COMM_WORLD_SIZE, PMI_SIZE, MPI_LOCALNRANKS and Slurm's variables.
// The first that is set counts, because a launcher inside a Slurm step starts ranks of its own.
// Ignores the task count of a Slurm allocation outside a step, as in a batch script without srun.
void check_launched_ranks(int size);

// Prints "strata: rank R: message" to stderr, waits for `delay`, flushes all output and ends all
// ranks with exit code 2. `rank` is the caller's.
[[noreturn]] void abort_mpi_job(int rank, std::string_view message,
                                std::chrono::milliseconds delay = {});

// Called by a rank that cannot continue: prints "strata: rank R: message" and ends the job with
// exit code 2. Ranks other than 0 first wait a second, so that rank 0, which writes the files, can
// finish them.
[[noreturn]] void end_mpi_job(std::string_view message);

// Calls MPI_Init_thread(MPI_THREAD_MULTIPLE) and MPI_Finalize. The main thread makes one object per
// process, and destroys it when all communicators are gone. If it is destroyed while an exception
// propagates, it ends the job, because the other ranks would wait forever.
class MpiRuntime {
 public:
  // Throws Error if the MPI library does not support several threads. If has_started() is not
  // called within `start_seconds`, for example because another rank hangs, the process exits with
  // code 2 and the launcher ends the others. 0 means no limit.
  explicit MpiRuntime(double start_seconds = 0);
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  // Called after all communicators are made.
  void has_started();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // rank within this machine
  int local_size() const { return local_size_; }
  // Processors that each of this machine's ranks may run on, as set by its launcher.
  const std::vector<std::vector<int>>& local_affinities() const { return local_affinities_; }

  // Returns body(). If it throws, a single rank rethrows. With several ranks, prints the error and
  // ends the job with exit code 2. Ranks other than 0 first wait a second, so that rank 0, which
  // writes the files, can finish them.
  template <typename Body>
  auto run(Body&& body) const -> decltype(body()) {
    if (size_ == 1) return std::forward<Body>(body)();
    try {
      return std::forward<Body>(body)();
    } catch (const std::exception& error) {
      end_mpi_job(message_of(error));
    } catch (...) {
      end_mpi_job("unknown exception");
    }
  }

 private:
  class StartWatch;

  std::unique_ptr<StartWatch> watch_;  // null after has_started()
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::vector<std::vector<int>> local_affinities_;
  int exceptions_at_start_ = 0;
};

}  // namespace strata::comm
