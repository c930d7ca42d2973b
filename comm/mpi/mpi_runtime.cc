#include "comm/mpi/mpi_runtime.h"

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
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/threads/processors.h"
#include "base/threads/start_thread.h"

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

std::string mpi_name(std::string_view library_version) {
  std::istringstream words(
      std::string(library_version.substr(0, library_version.find_first_of(",\n"))));
  std::string name;
  for (std::string word; words >> word;) {
    if (word != "Version:") name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

std::string mpi_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "";
  return mpi_name(std::string_view(text, static_cast<size_t>(length)));
}

namespace {

// Gathers every rank's numbers on every rank.
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

// Number of ranks that a launcher has started.
struct LaunchedRanks {
  int count = 1;
  // Environment variables: the one that holds `count`, and those that would be read without it.
  std::vector<const char*> variables;
  std::string remedy;
};

std::optional<int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  if (end == text || *end != '\0') return std::nullopt;
  return number;
}

// Returns the tasks of this process's Slurm step, or nullopt outside a step. A batch script sees
// the variables of its allocation, and in some versions a step number of its own.
std::optional<LaunchedRanks> ranks_of_slurm_step() {
  constexpr int64_t kFirstSpecialStep = 0xfffffff0;  // batch, interactive, external, pending
  LaunchedRanks step{
      .variables = {},
      .remedy =
          "start it with 'srun --mpi=pmix' (see 'srun --mpi=list'; Open MPI must be built with "
          "PMIx), or with mpirun"};
  const auto step_tasks = number_in("SLURM_STEP_NUM_TASKS");
  if (step_tasks) {
    step.variables.push_back("SLURM_STEP_NUM_TASKS");
    step.count = static_cast<int>(*step_tasks);
  }
  auto number = number_in("SLURM_STEP_ID");
  if (!number) number = number_in("SLURM_STEPID");
  const bool in_step = (number && *number >= 0 && *number < kFirstSpecialStep) ||
                       number_in("SLURM_PROCID").value_or(0) > 0;
  if (!in_step && !step_tasks) return std::nullopt;
  for (const char* variable : {"SLURM_NTASKS", "SLURM_NPROCS"}) {
    if (const auto tasks = number_in(variable)) {
      step.variables.push_back(variable);
      if (!step_tasks) step.count = std::max(step.count, static_cast<int>(*tasks));
    }
  }
  return step;
}

std::optional<LaunchedRanks> launched_ranks() {
  std::optional<LaunchedRanks> step = ranks_of_slurm_step();
  LaunchedRanks launched{
      .variables = {},
      .remedy =
          "start it with the mpirun of the MPI library that this program uses, or with 'srun "
          "--mpi=pmix'"};
  for (const char* variable :
       {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    const auto ranks = number_in(variable);
    if (!ranks) continue;
    if (launched.variables.empty()) launched.count = static_cast<int>(*ranks);
    launched.variables.push_back(variable);
  }
  if (launched.variables.empty()) return step;
  if (step) {
    for (const char* variable : step->variables) launched.variables.push_back(variable);
  }
  return launched;
}

}  // namespace

void check_launched_ranks(int size) {
  const std::optional<LaunchedRanks> launched = launched_ranks();
  if (!launched || launched->count <= size) return;
  std::string unset;
  for (const char* variable : launched->variables) unset += fmt::format(" -u {}", variable);
  fail(
      "the launcher started {} ranks ({}={}), but MPI has {}, so each process would run as a "
      "single rank; {}. To run single ranks on purpose, start each with 'env{}'",
      launched->count, launched->variables.front(), launched->count, size, launched->remedy, unset);
}

void abort_mpi_job(int rank, std::string_view message, std::chrono::milliseconds delay) {
  print_to_stderr("strata: rank {}: {}\n", rank, message);
  std::this_thread::sleep_for(delay);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

// A thread that ends the process unless it is stopped within `seconds`.
class MpiRuntime::StartWatch {
 public:
  explicit StartWatch(double seconds) {
    thread_ = start_thread<std::jthread>(
        "cannot start a thread that watches the start of MPI",
        [this, seconds](const std::stop_token& stop) { watch(seconds, stop); });
  }

 private:
  using Clock = std::chrono::steady_clock;

  void watch(double seconds, const std::stop_token& stop) {
    // A longer sleep does not count in full, because the process itself was suspended.
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
        "strata: rank {}: MPI has not started after {} s; check whether the other ranks still run, "
        "or raise run.stall_seconds if they are only slow\n",
        launched_rank(), count_text(seconds));
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
    fail("this MPI library does not support MPI_THREAD_MULTIPLE; use Open MPI 4.1 or MPICH 4");
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
  // Flushes first, because a launcher may kill this rank in MPI_Finalize if another rank fails.
  std::fflush(nullptr);
  MPI_Finalize();
}

void end_mpi_job(std::string_view message) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  abort_mpi_job(rank, message, std::chrono::seconds(rank == 0 ? 0 : 1));
}

}  // namespace strata::comm
