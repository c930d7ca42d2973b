// Damage that a crash of machine or disk may do to an interrupted run's files.
#pragma once

#include <string>

#include "harness/record/result_tree.h"
#include "loadbalance/random.h"

namespace strata::simulation {

// Does at most one kind of damage to the files of experiment 0, and describes it. Data that
// training flushed to disk are only damaged if a checksum must detect it.
std::string damage(const harness::ResultTree& tree, loadbalance::Random& random);

}  // namespace strata::simulation
