#include "comm/mpi_runtime.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

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

[[noreturn]] void end_job(int exit_code) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace

// Ends the process, by a thread, where it lives for longer than `seconds`.
class MpiRuntime::StartWatch {
 public:
  explicit StartWatch(double seconds) {
    try {
      thread_ =
          std::jthread([this, seconds](const std::stop_token& stop) { watch(seconds, stop); });
    } catch (const std::system_error& error) {
      fail("cannot start a thread that watches MPI start: {}", error.what());
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void watch(double seconds, const std::stop_token& stop) {
    // A step that takes longer does not count in full: the process itself was stopped.
    constexpr std::chrono::milliseconds kStep(50);
    Clock::duration waited = Clock::duration::zero();
    std::unique_lock lock(mutex_);
    for (auto checked = Clock::now(); waited < std::chrono::duration<double>(seconds);) {
      stopped_.wait_for(lock, stop, kStep, [] { return false; });
      if (stop.stop_requested()) return;
      const auto now = Clock::now();
      waited += std::min<Clock::duration>(now - std::exchange(checked, now), 2 * kStep);
    }
    print_to_stderr(
        "strata: rank {}: MPI has not started after {:g} s; see what became of the other ranks, or "
        "raise run.stall_seconds where they are only slow\n",
        launched_rank(), seconds);
    ::_exit(2);
  }

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

MpiRuntime::MpiRuntime(double start_seconds) : exceptions_at_start_(std::uncaught_exceptions()) {
  if (start_seconds > 0) watch_ = std::make_unique<StartWatch>(start_seconds);
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

void MpiRuntime::has_started() { watch_.reset(); }

MpiRuntime::~MpiRuntime() {
  if (size_ > 1 && std::uncaught_exceptions() > exceptions_at_start_) {
    end_mpi_job("stopped by an error");
  }
  // A rank that exits with an error has the launcher kill the others, which are past this by then.
  std::fflush(nullptr);
  MPI_Finalize();
}

void MpiRuntime::abort(std::string_view message, int exit_code) const {
  print_to_stderr("strata: rank {}: {}\n", rank_, message);
  end_job(exit_code);
}

void end_mpi_job(std::string_view message) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  print_to_stderr("strata: rank {}: {}\n", rank, message);
  if (rank != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  end_job(2);
}

}  // namespace strata::comm
