#include "harness/host/system_description.h"

#include <new>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class SystemDescription : public testing_support::TemporaryDirectory {
 protected:
  const SystemFacts facts_{
      .nodes = 1, .ranks = 2, .device = "cpu: AVX-512", .libraries = {{"mpi", "Open MPI 4.1.4"}}};

  // Expects that the official checker passes the description.
  void expect_passed(const SystemFacts& facts) {
    const auto path = directory_ / "system.json";
    write_file_atomically(path, system_description_json({}, inspect_machine(), facts));
    for (const char* ruleset : {"2.0.0", "4.1.0", "5.0.0", "5.1.0"}) {
      const testing_support::CommandResult result = testing_support::run_command(
          std::string(testing_support::oracle_python()) +
          " -m mlperf_logging.system_desc_checker " + path.string() + " training " + ruleset +
          " --log_output " + (directory_ / "check.log").string());
      EXPECT_THAT(result.output, HasSubstr("System description checker passed")) << ruleset;
    }
  }
};

TEST_F(SystemDescription, NodesAreCountedPerProcessor) {
  Machine machine;
  machine.processor_model = "CPU";
  machine.sockets = 2;
  machine.cores = 64;
  machine.processors = 128;
  const auto json = nlohmann::json::parse(system_description_json({}, machine, facts_));
  EXPECT_EQ(json["host_processors_per_node"], "2");
  EXPECT_EQ(json["host_processor_core_count"], "32");
  EXPECT_EQ(json["host_processor_vcpu_count"], "64");
  EXPECT_EQ(json["host_memory_capacity"], "N/A");
  EXPECT_EQ(json["accelerators_per_node"], "0");
  EXPECT_EQ(json["status"], "Available on-premise");
  EXPECT_EQ(json["division"], "open");
  EXPECT_EQ(json["other_software_stack"]["mpi"], "Open MPI 4.1.4");
  EXPECT_EQ(json["system_name"], "CPU_2ranks");
}

// nlohmann json 3.11.2 crashes if there is no memory when a value becomes an object.
TEST_F(SystemDescription, AFailedAllocationThrows) {
  const config::RunConfig config;
  const Machine machine;
  for (int at = 0; at < 50; ++at) {
    testing_support::allocations_left = at;
    EXPECT_THROW(system_description_json(config, machine, facts_), std::bad_alloc) << at;
  }
  EXPECT_EQ(testing_support::allocations_left, -1);
}

TEST_F(SystemDescription, ANameIsMadeFromTheProcessorUnlessGiven) {
  Machine machine;
  machine.processor_model = "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz";
  EXPECT_EQ(system_name({}, machine, facts_), "Intel_Xeon_Gold_6248R_CPU_3_00GHz_2ranks");
  EXPECT_EQ(system_name({}, machine, {.nodes = 4, .ranks = 1}),
            "4xIntel_Xeon_Gold_6248R_CPU_3_00GHz_1rank");
  EXPECT_EQ(system_name({}, {}, facts_), "unknown_processor_2ranks");
  config::RunConfig config;
  config.run.system = "mine";
  EXPECT_EQ(system_name(config, machine, facts_), "mine");
}

TEST_F(SystemDescription, ClockFrequencyDoesNotMakeAnotherSystem) {
  Machine machine;
  machine.processor_model = "CPU";
  machine.frequency = "2.69 GHz";
  const std::string description = system_description_json({}, machine, facts_);
  machine.frequency = "3.10 GHz";
  EXPECT_NE(system_description_json({}, machine, facts_), description);
  EXPECT_TRUE(describe_same_system(system_description_json({}, machine, facts_), description));
  machine.memory = "24 GiB";
  EXPECT_FALSE(describe_same_system(system_description_json({}, machine, facts_), description));
  EXPECT_FALSE(describe_same_system("torn {", "torn {"));
}

TEST_F(SystemDescription, ASingleRankWithoutMpiCountsAsOtherRanks) {
  SystemFacts facts = facts_;
  facts.libraries = {{"oneDNN", "2.6.3"}, {"MPI", "Open MPI v4.1.4"}};
  const std::string several = system_description_json({}, {}, facts);
  facts.ranks = 1;
  facts.libraries.pop_back();
  EXPECT_TRUE(describe_other_ranks(several, system_description_json({}, {}, facts)));
  facts.libraries = {{"oneDNN", "3.0.0"}};
  const std::string other = system_description_json({}, {}, facts);
  EXPECT_FALSE(describe_other_ranks(several, other));
  EXPECT_EQ(differing_fields(several, other),
            (std::vector<std::string>{"other_software_stack", "sw_notes", "system_name"}));
  EXPECT_EQ(differing_fields("torn {", other), std::vector<std::string>());
}

TEST_F(SystemDescription, NamesShowIfOnlyRanksDiffer) {
  EXPECT_TRUE(differ_in_ranks_only("CPU_1rank", "CPU_2ranks"));
  EXPECT_TRUE(differ_in_ranks_only("2xCPU_16ranks", "CPU_8ranks"));
  EXPECT_FALSE(differ_in_ranks_only("CPU_2ranks", "CPU_2ranks"));
  EXPECT_FALSE(differ_in_ranks_only("CPU_2ranks", "GPU_1rank"));
  EXPECT_FALSE(differ_in_ranks_only("mine", "yours"));
}

TEST_F(SystemDescription, AcceleratorsAreCountedAndNamed) {
  Machine machine;
  machine.processor_model = "CPU";
  SystemFacts facts{.nodes = 4, .ranks = 32, .device = "cuda"};
  facts.accelerator = {"NVIDIA H200", 150'000'000'000};
  const auto json = nlohmann::json::parse(system_description_json({}, machine, facts));
  EXPECT_EQ(json["accelerators_per_node"], "8");
  EXPECT_EQ(json["accelerator_model_name"], "NVIDIA H200");
  EXPECT_EQ(json["accelerator_memory_capacity"], "150 GB");
  EXPECT_EQ(json["host_processor_model_name"], "CPU");
  EXPECT_EQ(json["system_name"], "4xNVIDIA_H200_32ranks");
}

TEST_F(SystemDescription, TheOfficialCheckerPassesThisMachine) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  SystemFacts with_gpus = facts_;
  with_gpus.accelerator = {"NVIDIA H200", 150'000'000'000};
  for (const SystemFacts& facts : {facts_, with_gpus}) expect_passed(facts);
}

}  // namespace
}  // namespace strata::harness
