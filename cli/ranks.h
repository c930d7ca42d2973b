// The ranks a command runs on: one, or all of the MPI job it was launched in.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi_runtime.h"
#include "training/setup.h"

namespace strata::cli {

// Calls command(ranks) on every rank. A rank that throws ends the whole job with exit code 2.
template <typename Command>
void on_all_ranks(const Command& command) {
  if (!comm::launched_by_mpi()) {
    const auto alone = comm::make_single_communicator();
    command(training::Ranks{*alone});
    return;
  }
  const comm::MpiRuntime runtime;
  runtime.run([&] {
    const std::unique_ptr<comm::Communicator> communicator =
        runtime.size() > 1 ? comm::make_mpi_communicator() : comm::make_single_communicator();
    command(training::Ranks{
        *communicator, {runtime.local_rank(), runtime.local_size(), runtime.local_affinities()}});
  });
}

}  // namespace strata::cli
