// Processors that this process may use, and their distribution among ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace strata {

// Returns the processors that the calling thread may run on (its affinity), ascending; all
// processors if the system does not report an affinity.
std::vector<int> affinity();
// Restricts the calling thread, and threads that it starts later, to these processors. Returns
// false on failure.
bool set_affinity(const std::vector<int>& processors) noexcept;

// Returns the processor time per second that control groups allow this process: cpu.max of its
// group and the groups above (version 2), cpu.cfs_quota_us (version 1). Returns nullopt without a
// limit. Reads /proc and /sys below `root`.
std::optional<double> processor_quota(const std::filesystem::path& root = "/");

// Returns the processors of each NUMA node, in order of nodes; empty if the system does not report
// them. Reads /sys below `root`.
std::vector<std::vector<int>> numa_nodes(const std::filesystem::path& root = "/");

// Returns the useful number of threads: the processors of the affinity, limited by the quota; at
// least 1.
int usable_processors();

struct RankProcessors {
  int threads = 1;
  std::vector<int> bound;  // processors to bind to; empty: no binding
};

// Returns the processors of rank `rank` among the ranks of a machine, each with an affinity. Ranks
// share processors and the quota evenly. If all ranks may use the same processors of several NUMA
// nodes, every rank is bound to a node, or to neighbouring nodes if there are more nodes than
// ranks.
RankProcessors processors_of_rank(size_t rank, const std::vector<std::vector<int>>& affinities,
                                  const std::vector<std::vector<int>>& nodes,
                                  std::optional<double> quota);

}  // namespace strata
