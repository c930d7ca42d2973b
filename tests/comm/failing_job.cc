// A job of two or more ranks in which rank 1 fails while the others wait in an all-reduce.
// Usage: failing_job throw|unwind|kill|hang|stray|device
//        failing_job release: like throw, but destroying rank 1's objects takes an hour
//        failing_job everywhere: every rank fails, the first one later
//        failing_job absent: rank 1 stops before MPI starts
//        failing_job broken: rank 1's check of its device reports an error; nobody calls MPI
//        failing_job waits: does not fail; every rank repeatedly waits for its device
//        failing_job affinities: does not fail; rank 1 may use one processor, rank 0 prints them
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/threads/processors.h"
#include "comm/communicator.h"
#include "comm/mpi/end_job_on_error.h"
#include "comm/mpi/mpi_runtime.h"

namespace {

// Stands for the first rank's work on its files when an error leaves it.
struct Tidying {
  ~Tidying() {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    fmt::print("tidied\n");
  }
};

void fail_or_wait(int rank, strata::comm::Communicator& communicator) {
  if (rank == 1) strata::fail("shard 7 is unreadable");
  float value = 1;
  communicator.all_reduce_sum(&value, 1, strata::device::DType::kF32);
}

void work(int rank, const std::string& how) {
  std::optional<Tidying> tidying;
  if (how == "everywhere" && rank == 0) tidying.emplace();
  const auto communicator = strata::comm::make_mpi_communicator();
  const auto other = communicator->duplicate();
  communicator->barrier();
  if (how == "release") {
    struct DeviceMemory {
      ~DeviceMemory() { std::this_thread::sleep_for(std::chrono::hours(1)); }
    };
    std::optional<DeviceMemory> memory;
    if (rank == 1) memory.emplace();
    strata::comm::end_job_on_error(*communicator, [&] { fail_or_wait(rank, *communicator); });
  }
  if (how == "waits") {
    other->end_job_after(0.5);
    const auto waits = communicator->device_waits();
    for (int i = 0; i < 150; ++i) {
      const strata::device::HostWait one(waits.get(), "a short wait");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return;
  }
  if (how == "broken") {
    const auto waits = communicator->device_waits();
    const int check = waits->add_check([] { return std::string("a check that is removed"); });
    waits->remove_check(check);
    waits->add_check([rank] { return rank == 1 ? std::string("the network is down") : ""; });
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  other->end_job_after(how == "hang" || how == "stray" || how == "device" ? 0.5 : 0);
  if (rank == 1 && how == "kill") std::raise(SIGKILL);
  // Without an end of line, the text stays in the process's buffer.
  if (how == "hang") fmt::print("rank {} was here", rank);
  if (rank == 1 && how == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (rank == 1 && how == "stray") other->barrier();
  if (how == "device") {
    const auto waits = communicator->device_waits();
    { const strata::device::HostWait short_one(waits.get(), "a short wait"); }
    if (rank != 1) {
      const strata::device::HostWait one(waits.get(), "the collectives of its device");
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  fail_or_wait(how == "everywhere" ? 1 : rank, *communicator);
}

void tell_affinities() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank && rank == std::string("1")) strata::set_affinity({strata::affinity().back()});
  const strata::comm::MpiRuntime mpi;
  if (mpi.rank() > 0) return;
  for (const auto& processors : mpi.local_affinities()) {
    fmt::print("[{}]", fmt::join(processors, " "));
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  if (how == "affinities") {
    tell_affinities();
    return 0;
  }
  if (how == "absent" && strata::comm::launched_rank() == 1) std::raise(SIGSTOP);
  try {
    const strata::comm::MpiRuntime mpi(how == "absent" ? 2 : 0);
    if (how == "throw" || how == "everywhere") {
      mpi.run([&] { work(mpi.rank(), how); });
    } else {
      work(mpi.rank(), how);
    }
  } catch (const std::exception&) {
  }
  return 0;
}
