#include "base/threads/processors.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>

#include "base/files/files.h"
#include "base/threads/parallel.h"
#include "tests/support/temporary_directory.h"

namespace strata {
namespace {

using Set = std::vector<int>;

Set range(int first, int last) {
  Set numbers(static_cast<size_t>(last - first + 1));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Two sockets of eight processors; second hardware threads are numbered after all first ones.
const std::vector<Set> kTwoNodes = {{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}};

TEST(RankProcessors, OneNodeIsSharedEvenly) {
  for (const size_t rank : {0, 1, 2}) {
    const auto mine = processors_of_rank(rank, {3, range(0, 7)}, {range(0, 7)}, {});
    EXPECT_EQ(mine.threads, 2);
    EXPECT_TRUE(mine.bound.empty());
  }
  EXPECT_EQ(processors_of_rank(0, {range(0, 7)}, {}, {}).threads, 8);
  EXPECT_EQ(processors_of_rank(4, {5, range(0, 3)}, {}, {}).threads, 1) << "more ranks than these";
}

TEST(RankProcessors, RanksBoundByTheLauncherKeepTheirProcessors) {
  const std::vector<Set> bound = {range(0, 3), range(4, 7), range(4, 7), range(0, 15)};
  const std::vector<int> threads = {2, 1, 1, 11};  // 4 by two, 4 by three, and 8 by one
  for (size_t rank = 0; rank < bound.size(); ++rank) {
    const auto mine = processors_of_rank(rank, bound, kTwoNodes, {});
    EXPECT_TRUE(mine.bound.empty());
    EXPECT_EQ(mine.threads, threads[rank]) << rank;
  }
}

TEST(RankProcessors, RanksAreBoundToNodes) {
  const std::vector<Set> two(2, range(0, 15)), four(4, range(0, 15)), three(3, range(0, 15));
  for (size_t rank = 0; rank < 2; ++rank) {
    const auto mine = processors_of_rank(rank, two, kTwoNodes, {});
    EXPECT_EQ(mine.bound, kTwoNodes[rank]);
    EXPECT_EQ(mine.threads, 8);
  }
  for (size_t rank = 0; rank < 4; ++rank) {
    const auto mine = processors_of_rank(rank, four, kTwoNodes, {});
    EXPECT_EQ(mine.bound, kTwoNodes[rank / 2]);
    EXPECT_EQ(mine.threads, 4);
  }
  EXPECT_EQ(processors_of_rank(0, three, kTwoNodes, {}).threads, 4);
  EXPECT_EQ(processors_of_rank(1, three, kTwoNodes, {}).threads, 4);
  EXPECT_EQ(processors_of_rank(2, three, kTwoNodes, {}).threads, 8);
}

TEST(RankProcessors, FewerRanksThanNodesGetNeighbouringNodes) {
  const std::vector<Set> nodes = {range(0, 1), range(2, 3), range(4, 5), range(6, 7)};
  const std::vector<Set> two(2, range(0, 7));
  EXPECT_EQ(processors_of_rank(0, two, nodes, {}).bound, range(0, 3));
  EXPECT_EQ(processors_of_rank(1, two, nodes, {}).bound, range(4, 7));
  EXPECT_TRUE(processors_of_rank(0, {range(0, 7)}, nodes, {}).bound.empty()) << "one has all";
}

// A container may have only two processors of the second node, and none of a third.
TEST(RankProcessors, RanksGetOnlyAllowedProcessorsOfANode) {
  const std::vector<Set> nodes = {range(0, 7), range(8, 15), range(16, 23)};
  const std::vector<Set> two(2, range(4, 9));
  EXPECT_EQ(processors_of_rank(0, two, nodes, {}).bound, range(4, 7));
  EXPECT_EQ(processors_of_rank(1, two, nodes, {}).bound, range(8, 9));
}

TEST(RankProcessors, AQuotaIsSharedByRanks) {
  EXPECT_EQ(processors_of_rank(0, {range(0, 7)}, {}, 2.5).threads, 2);
  EXPECT_EQ(processors_of_rank(0, {range(0, 7)}, {}, 0.5).threads, 1);
  EXPECT_EQ(processors_of_rank(0, {range(0, 7)}, {}, 64).threads, 8);
  EXPECT_EQ(processors_of_rank(1, {2, range(0, 15)}, kTwoNodes, 6).threads, 3);
}

class ProcessorsOfMachine : public testing_support::TemporaryDirectory {
 protected:
  void file(const std::string& path, const std::string& text) {
    write_file_atomically(directory_ / path, text + "\n");
  }
  std::optional<double> quota() { return processor_quota(directory_); }
};

TEST_F(ProcessorsOfMachine, TheQuotaIsTheSmallestOfTheGroupAndItsParents) {
  EXPECT_FALSE(quota()) << "no control groups";
  file("proc/self/cgroup", "0::/system.slice/job.scope");
  EXPECT_FALSE(quota()) << "groups without limits";
  file("sys/fs/cgroup/system.slice/job.scope/cpu.max", "max 100000");
  EXPECT_FALSE(quota());
  file("sys/fs/cgroup/system.slice/cpu.max", "250000 100000");
  EXPECT_EQ(quota(), 2.5);
  file("sys/fs/cgroup/system.slice/job.scope/cpu.max", "40000 20000");
  EXPECT_EQ(quota(), 2);
}

TEST_F(ProcessorsOfMachine, AContainersQuotaIsReadFromTheRootGroup) {
  file("proc/self/cgroup", "0::/");
  file("sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(ProcessorsOfMachine, AQuotaOfCgroupVersionOneIsRead) {
  file("proc/self/cgroup", "12:memory:/docker/7\n3:cpu,cpuacct:/docker/7\n0::/");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(quota());
  file("sys/fs/cgroup/cpu,cpuacct/docker/7/cpu.cfs_quota_us", "300000");
  file("sys/fs/cgroup/cpu,cpuacct/docker/7/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 3);
}

TEST_F(ProcessorsOfMachine, NodesAreReadInOrder) {
  EXPECT_TRUE(numa_nodes(directory_).empty());
  file("sys/devices/system/node/online", "0,2");
  file("sys/devices/system/node/node0/cpulist", "0-2,6");
  file("sys/devices/system/node/node2/cpulist", "3-5,7");
  EXPECT_EQ(numa_nodes(directory_), (std::vector<Set>{{0, 1, 2, 6}, {3, 4, 5, 7}}));
}

TEST(Processors, ThreadsFollowTheAffinity) {
  const Set before = affinity();
  ASSERT_FALSE(before.empty());
  std::thread([&] {
    ASSERT_TRUE(set_affinity({before.back()}));
    EXPECT_EQ(affinity(), Set{before.back()});
    EXPECT_EQ(usable_processors(), 1);
    EXPECT_EQ(thread_count(0), 1u);
    EXPECT_EQ(thread_count(3), 3u);
  }).join();
  EXPECT_EQ(affinity(), before);
}

}  // namespace
}  // namespace strata
