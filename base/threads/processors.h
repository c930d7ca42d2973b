// Which processors this process may use, and which of them a rank should.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace strata {

// The numbers of the processors that the calling thread may run on (its affinity), rising; of a
// machine that does not tell, as many as it has.
std::vector<int> affinity();
// Lets the calling thread, and those started from it, run on these alone. Returns whether it did.
bool set_affinity(const std::vector<int>& processors) noexcept;

// Processors' worth of time that control groups leave this process: cpu.max of its group and those
// above (version 2), cpu.cfs_quota_us (version 1). Nothing where there is no limit. Reads /proc and
// /sys below `root`.
std::optional<double> processor_quota(const std::filesystem::path& root = "/");

// The processors of each NUMA node, in the order of the nodes; empty where the machine does not
// tell. Reads /sys below `root`.
std::vector<std::vector<int>> numa_nodes(const std::filesystem::path& root = "/");

// How many threads pay: the processors of the affinity, no more than the quota; at least 1.
int usable_processors();

struct RankProcessors {
  int threads = 1;
  std::vector<int> bound;  // where they belong; empty: wherever they may run
};

// For the rank `rank` of those that share a machine, each with an affinity. Processors, and the
// quota, are shared evenly among the ranks that may use them. Where all ranks may use the same
// processors, of several NUMA nodes, every rank is bound to a node, or to neighbouring nodes where
// there are more nodes than ranks.
RankProcessors processors_of_rank(size_t rank, const std::vector<std::vector<int>>& affinities,
                                  const std::vector<std::vector<int>>& nodes,
                                  std::optional<double> quota);

}  // namespace strata
