// What a crash of machine or disk may leave of an interrupted run's files.
#pragma once

#include <string>

#include "harness/record/result_tree.h"
#include "loadbalance/random.h"

namespace strata::simulation {

// Does one thing, or nothing, to the files of experiment 0. Returns what, in words. What training
// flushed to disk before it went on is only damaged where a checksum must notice it.
std::string damage(const harness::ResultTree& tree, loadbalance::Random& random);

}  // namespace strata::simulation
