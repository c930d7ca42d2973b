#include "tests/simulation/simulated_job.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/timing.h"
#include "harness/time_to_train.h"
#include "tests/simulation/shared_memory_ranks.h"
#include "tests/support/deferred_backend.h"
#include "training/bert_system.h"
#include "training/factories/backend.h"
#include "training/ranks/harness_communicator.h"
#include "training/ranks/ranks.h"

namespace strata::simulation {
namespace {

constexpr double kLimit = 60;  // seconds
constexpr pid_t kGone = -1;

// Owns the work that it defers.
class LateBackend final : public testing_support::DeferredBackend {
 public:
  LateBackend(std::unique_ptr<device::Backend> inner, uint64_t seed)
      : DeferredBackend(*inner, seed), owned_(std::move(inner)) {}

 private:
  std::unique_ptr<device::Backend> owned_;
};

void train(const Job& job, SharedMemory& shared, int rank) {
  Chaos chaos(splitmix64(job.seed + static_cast<uint64_t>(rank)),
              rank == job.victim ? job.dies_at : 0);
  const auto communicator = shared.communicator(rank, chaos);
  const training::Ranks ranks{*communicator, {rank, job.ranks, {}}};
  std::unique_ptr<device::Backend> backend = training::make_backend(job.config, ranks.local);
  if (job.device != Device::kHostMemory) {
    auto late = std::make_unique<LateBackend>(std::move(backend),
                                              job.seed * 8 + static_cast<uint64_t>(rank));
    if (job.device == Device::kCollectiveStreams && job.ranks > 1) {
      late->use_collectives([&](const device::RankGroup&, void* stream) {
        return make_stream_collectives(*communicator, stream);
      });
    }
    backend = std::move(late);
  }
  // The program has no backend here that captures graphs, so its configuration must not enable
  // them.
  config::RunConfig config = job.config;
  config.device.graphs = job.graphs;
  training::BertSystem system(config, ranks, std::move(backend));
  training::HarnessCommunicator for_harness(ranks);
  harness::time_to_train(job.config, system, for_harness, job.existing);
  shared.note(rank) = chaos.moments();
}

[[noreturn]] void be_a_rank(const Job& job, SharedMemory& shared, int rank,
                            const std::filesystem::path& messages) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(messages.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(file, STDERR_FILENO);
  ::dup2(file, STDOUT_FILENO);
  int exit_code = 0;
  try {
    train(job, shared, rank);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", rank, error.what());
    exit_code = 2;
  }
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace

JobEnd run(const Job& job, const std::filesystem::path& messages) {
  SharedMemory shared(job.ranks);
  std::vector<pid_t> ranks;
  std::filesystem::remove(messages);
  std::fflush(nullptr);
  for (int rank = 0; rank < job.ranks; ++rank) {
    ranks.push_back(::fork());
    if (ranks.back() == 0) be_a_rank(job, shared, rank, messages);
  }
  JobEnd end{.finished = true};
  const auto begin = Clock::now();
  for (int left = job.ranks; left > 0;) {
    int status = 0;
    const pid_t gone = ::waitpid(-1, &status, WNOHANG);
    const bool hangs = seconds_since(begin) > kLimit;
    const bool died = gone > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    if (died && gone == ranks[static_cast<size_t>(job.victim)]) end.killed = WIFSIGNALED(status);
    if (gone > 0) {
      --left;
      std::replace(ranks.begin(), ranks.end(), gone, kGone);
    }
    if (died || hangs) {
      end.finished = false;
      for (const pid_t rank : ranks) {
        if (rank != kGone) ::kill(rank, SIGKILL);
      }
    }
    if (hangs) {
      while (::wait(nullptr) > 0) {
      }
      fail("the job hangs; its messages: {}", messages.string());
    }
    if (gone == 0) ::usleep(1000);
  }
  end.moments = shared.note(0);
  if (std::filesystem::exists(messages)) end.messages = read_file(messages);
  return end;
}

}  // namespace strata::simulation
