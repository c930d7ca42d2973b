#include "device/cuda/host/nearest_processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace strata::device::cuda {
namespace {

namespace fs = std::filesystem;

TEST(NearestProcessors, ListsOfLinuxAreParsed) {
  EXPECT_EQ(parse_processor_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_processor_list("5"), std::vector<int>{5});
  for (const char* wrong : {"", "\n", "x", "3-", "3-1", "1,", "1,,2", "1;2", "-1", "0-99999999"}) {
    EXPECT_TRUE(parse_processor_list(wrong).empty()) << wrong;
  }
}

std::vector<int> usable_processors() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

class BindToNearestProcessors : public testing::Test {
 protected:
  BindToNearestProcessors() { fs::create_directories(device_); }
  ~BindToNearestProcessors() override { fs::remove_all(root_); }

  // Returns the processors of a thread that was bound with `list` in the device's file.
  std::vector<int> bound(const std::string& list) {
    std::ofstream(device_ / "local_cpulist") << list << "\n";
    std::vector<int> usable;
    std::thread([&] {
      bind_to_nearest_processors("0000:3B:00.0", root_);
      usable = usable_processors();
    }).join();
    return usable;
  }

  fs::path root_ = fs::path(testing::TempDir()) / ("strata.near." + std::to_string(::getpid()));
  fs::path device_ = root_ / "sys/bus/pci/devices/0000:3b:00.0";
};

TEST_F(BindToNearestProcessors, BindsAThread) {
  const std::vector<int> all = usable_processors();
  if (all.size() < 2) GTEST_SKIP() << "this machine has one processor";
  EXPECT_EQ(bound(std::to_string(all[1])), std::vector<int>{all[1]});
  EXPECT_EQ(bound(std::to_string(all[1]) + ",1000"), std::vector<int>{all[1]});
}

TEST_F(BindToNearestProcessors, ChangesNothingIfBindingIsImpossible) {
  const std::vector<int> all = usable_processors();
  EXPECT_EQ(bound("1000-1001"), all) << "none of these may be used";
  EXPECT_EQ(bound(""), all);
  bind_to_nearest_processors("0000:ff:00.0", root_);
  EXPECT_EQ(usable_processors(), all);
}

}  // namespace
}  // namespace strata::device::cuda
