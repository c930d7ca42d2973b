// The things that all experiments of a benchmark share.
#pragma once

#include "config/run_config.h"
#include "harness/communicator.h"
#include "harness/record/log_keeper.h"
#include "harness/resume/opened_results.h"
#include "harness/system_under_test.h"

namespace strata::harness {

struct Benchmark {
  const config::RunConfig& config;
  SystemUnderTest& system;
  Communicator& ranks;
  LogKeeper* keeper;  // null on ranks other than the first, or without a keeper process
  Say say;            // prints a line, on the first rank only
  OpenedResults results;

  const ResultTree& tree() const { return results.tree; }
};

}  // namespace strata::harness
