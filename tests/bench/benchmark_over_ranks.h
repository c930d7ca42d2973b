// Runs a measurement of the tiny model on the ranks of the test.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "config/run_config.h"
#include "tests/support/temporary_directory.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

class BenchmarkOverRanks : public testing_support::TemporaryDirectory {
 protected:
  BenchmarkOverRanks() {
    config_.model.config = "tiny";
    config_.model.precision = config::Precision::kFp32;
    config_.device.threads = 1;
    config_.batch.micro_batch = 2;
    config_.reduce.bucket_megabytes = 0.05;
  }

  config::RunConfig config_;
  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  training::Ranks ranks_{*world_, {world_->rank(), world_->size()}};
};

}  // namespace strata::bench
