// MPI's start and end as one object, and a job that ends on every rank when one rank fails.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace strata::comm {

// Whether a launcher (mpirun, srun) started this process, even alone. Without one, MPI need not be
// started at all and make_single_communicator serves.
bool launched_by_mpi();
// This process's rank before MPI is started, as its launcher tells it; alone, or where it does not
// tell, 0.
int launched_rank();

// Throws Error if the launcher's variables say that this process is one of more ranks than `size`,
// the number that MPI knows of (1 if MPI was not started): each would train alone. Reads
// OMPI_COMM_WORLD_SIZE, MV2_COMM_WORLD_SIZE, PMI_SIZE, MPI_LOCALNRANKS and Slurm's variables; the
// first that is set counts, since a launcher inside a Slurm step makes ranks of its own. A batch
// script without srun is no step, whatever its allocation has.
void check_launched_ranks(int size);

// Prints "strata: rank R: message" to stderr, waits for `delay`, writes out what is buffered and
// ends all ranks with exit code 2. `rank` is the caller's.
[[noreturn]] void abort_mpi_job(int rank, std::string_view message,
                                std::chrono::milliseconds delay = {});

// For a rank that cannot go on: prints "strata: rank R: message" and ends the job with exit code 2.
// Every rank but 0 first waits a second, so that rank 0, which keeps the files, can tidy them.
[[noreturn]] void end_mpi_job(std::string_view message);

// MPI_Init_thread(MPI_THREAD_MULTIPLE) and MPI_Finalize. One per process, made by the main thread
// and destroyed after every MPI communicator. Destroyed by an exception on its way out, it ends the
// job, since the other ranks would wait for ever.
class MpiRuntime {
 public:
  // Throws Error where the MPI library cannot serve several threads. If has_started() is not called
  // within `start_seconds`, as where another rank hangs, the process exits with code 2 and the
  // launcher ends the others. 0: no limit.
  explicit MpiRuntime(double start_seconds = 0);
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  // For when all communicators are made.
  void has_started();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // among the ranks of this machine
  int local_size() const { return local_size_; }
  // The processors that each of them may run on, as its launcher left them.
  const std::vector<std::vector<int>>& local_affinities() const { return local_affinities_; }

  // Runs `body` and returns what it returns. Where it throws, a single rank passes the exception
  // on; of several, the rank prints it and ends the job with exit code 2, every rank but 0 a second
  // later, so that rank 0, which keeps the files, can tidy them.
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

  std::unique_ptr<StartWatch> watch_;  // until has_started()
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::vector<std::vector<int>> local_affinities_;
  int exceptions_at_start_ = 0;
};

}  // namespace strata::comm
