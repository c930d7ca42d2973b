// The ranks a command runs on: one, or all of the MPI job it was launched in.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "comm/mpi/mpi_runtime.h"
#include "training/ranks/ranks.h"

namespace strata::cli {

// Calls command(ranks) on every rank. A rank that throws ends the whole job with exit code 2. So
// does a start of MPI that takes longer than start_seconds(); 0 means no limit. Throws Error if
// this process was started as one of several ranks that cannot find each other.
template <typename Command>
void on_all_ranks(
    const Command& command, const std::function<double()>& start_seconds = [] { return 0.0; }) {
  if (!comm::launched_by_mpi()) {
    comm::check_launched_ranks(1);
    const auto single_rank = comm::make_single_communicator();
    command(training::Ranks{*single_rank});
    return;
  }
  comm::MpiRuntime runtime(start_seconds());
  runtime.run([&] {
    comm::check_launched_ranks(runtime.size());
    const std::unique_ptr<comm::Communicator> communicator =
        runtime.size() > 1 ? comm::make_mpi_communicator() : comm::make_single_communicator();
    runtime.has_started();
    command(training::Ranks{
        *communicator, {runtime.local_rank(), runtime.local_size(), runtime.local_affinities()}});
  });
}

}  // namespace strata::cli
