#include "harness/host/machine.h"

#include <unistd.h>

#include "base/files/files.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class MachineTest : public testing_support::TemporaryDirectory {
 protected:
  void file(const char* path, const std::string& text) {
    write_file_atomically(directory_ / path, text);
  }
};

std::string processor(int socket, int core) {
  return "processor\t: 0\nmodel name\t: Some(R) CPU 9000 @ 2.00GHz\ncpu MHz\t\t: 1999.998\n"
         "physical id\t: " +
         std::to_string(socket) + "\ncore id\t\t: " + std::to_string(core) + "\n\n";
}

TEST_F(MachineTest, CountsSocketsCoresAndThreads) {
  std::string cpuinfo;
  for (int thread = 0; thread < 2; ++thread) {
    for (int socket = 0; socket < 2; ++socket) {
      for (int core = 0; core < 2; ++core) cpuinfo += processor(socket, core);
    }
  }
  file("proc/cpuinfo", cpuinfo);
  const Machine machine = inspect_machine(directory_);
  EXPECT_EQ(machine.processor_model, "Some(R) CPU 9000 @ 2.00GHz");
  EXPECT_EQ(machine.sockets, 2);
  EXPECT_EQ(machine.cores, 4);
  EXPECT_EQ(machine.processors, 8);
  EXPECT_EQ(machine.frequency, "2.00 GHz");
}

TEST_F(MachineTest, ReadsFamilyAndInstructionSetsOfTheProcessor) {
  file("proc/cpuinfo",
       "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
       "model name\t: AMD EPYC\nflags\t\t: fpu avx512_bf16 avx avx2 avx512f avx512_bf16x\n");
  const Machine machine = inspect_machine(directory_);
  EXPECT_EQ(machine.processor_model, "AMD EPYC");
  EXPECT_EQ(machine.processor_family, "AuthenticAMD family 26 model 2");
  EXPECT_EQ(machine.instruction_sets, (std::vector<std::string>{"avx2", "avx512f", "avx512_bf16"}));
  file("proc/cpuinfo", processor(0, 0));
  EXPECT_EQ(inspect_machine(directory_).processor_family, "");
  EXPECT_TRUE(inspect_machine(directory_).instruction_sets.empty());
}

// Lines of a Grace processor. Linux reports neither its name, nor cores and sockets in cpuinfo.
TEST_F(MachineTest, ReadsProcessorsOfAarch64) {
  std::string cpuinfo;
  for (int number = 0; number < 4; ++number) {
    cpuinfo += "processor\t: " + std::to_string(number) +
               "\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd asimdhp asimddp sve bf16 sm4\n"
               "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
               "CPU part\t: 0xd4f\nCPU revision\t: 0\n\n";
    const std::string topology =
        "sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    file((topology + "physical_package_id").c_str(), std::to_string(number / 2) + "\n");
    file((topology + "core_id").c_str(), std::to_string(number % 2) + "\n");
  }
  file("proc/cpuinfo", cpuinfo);
  const Machine machine = inspect_machine(directory_);
  EXPECT_EQ(machine.processor_model, "ARM Neoverse-V2");
  EXPECT_EQ(machine.processor_family, "implementer 0x41 part 0xd4f");
  EXPECT_EQ(machine.instruction_sets, (std::vector<std::string>{"asimdhp", "sve", "bf16"}));
  EXPECT_EQ(machine.sockets, 2);
  EXPECT_EQ(machine.cores, 4);
  EXPECT_EQ(machine.processors, 4);
  file("proc/cpuinfo", "CPU implementer\t: 0x7f\nCPU part\t: 0x001\n");
  EXPECT_EQ(inspect_machine(directory_).processor_model, "implementer 0x7f part 0x001");
}

TEST_F(MachineTest, ReadsMemorySystemAndOtherFactsOfTheNode) {
  file("proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB\n");
  file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  file("proc/sys/kernel/osrelease", "6.1.0\n");
  file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
  const std::string caches = "sys/devices/system/cpu/cpu0/cache/";
  file((caches + "index0/level").c_str(), "1\n");
  file((caches + "index0/type").c_str(), "Data\n");
  file((caches + "index0/size").c_str(), "48K\n");
  file((caches + "index2/level").c_str(), "2\n");
  file((caches + "index2/type").c_str(), "Unified\n");
  file((caches + "index2/size").c_str(), "2048K\n");
  file("sys/block/nvme0n1/size", "2147483648\n");
  file("sys/block/nvme1n1/size", "2147483648\n");
  file("sys/block/sda/size", "1048576\n");
  file("sys/block/sda/queue/rotational", "1\n");
  file("sys/block/loop0/size", "1048576\n");
  file("sys/class/net/eth0/device/uevent", "");
  file("sys/class/net/eth0/type", "1\n");
  file("sys/class/net/eth0/speed", "25000\n");
  file("sys/class/net/ib0/device/uevent", "");
  file("sys/class/net/ib0/type", "32\n");
  file("sys/class/net/ib0/speed", "-1\n");
  file("sys/class/net/lo/type", "772\n");
  const Machine machine = inspect_machine(directory_);
  EXPECT_EQ(machine.memory, "24 GiB");
  EXPECT_EQ(machine.operating_system, "Debian GNU/Linux 12 (bookworm), Linux 6.1.0");
  EXPECT_EQ(machine.frequency, "3.70 GHz (highest)");
  EXPECT_EQ(machine.caches, "L1d 48 KiB, L2 2 MiB");
  EXPECT_EQ(machine.storage_type, "HDD, NVMe SSD");
  EXPECT_EQ(machine.storage_capacity, "2x 1 TiB NVMe SSD, 1x 512 MiB HDD");
  EXPECT_EQ(machine.networking, "1x Ethernet 25 Gb/s, 1x InfiniBand");
}

TEST_F(MachineTest, DescriptionWithoutFilesStillHasOneProcessor) {
  const Machine machine = inspect_machine(directory_);
  EXPECT_EQ(machine.processors, 1);
  EXPECT_EQ(machine.cores, 1);
  EXPECT_EQ(machine.processor_model, "");
  EXPECT_EQ(machine.networking, "");
}

TEST_F(MachineTest, DescriptionOfThisMachineHasProcessorsAndMemory) {
  const Machine machine = inspect_machine();
  EXPECT_EQ(machine.processors, ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_FALSE(machine.memory.empty());
  EXPECT_FALSE(machine.operating_system.empty());
  EXPECT_FALSE(machine.compiler.empty());
}

}  // namespace
}  // namespace strata::harness
