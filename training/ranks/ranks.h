// The ranks of a job and their place on its machines.
#pragma once

#include <vector>

#include "comm/communicator.h"

namespace strata::training {

// One of the ranks that share a machine.
struct LocalRank {
  int rank = 0;
  int count = 1;
  // [count] The processors that each rank of this machine may run on. If it is empty, every rank
  // may run where this process may.
  std::vector<std::vector<int>> affinities;
};

// All ranks of the job, and those of them that share this machine.
struct Ranks {
  comm::Communicator& communicator;
  LocalRank local;

  int rank() const { return communicator.rank(); }
  int size() const { return communicator.size(); }
  bool first() const { return rank() == 0; }
};

}  // namespace strata::training
