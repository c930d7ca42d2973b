#include "comm/mpi/mpi_runtime.h"

#include <fmt/ranges.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/error.h"
#include "base/threads/processors.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"

namespace strata::comm {
namespace {

struct JobResult {
  int exit_code;
  std::string output;
};

// `timeout` exits with 124 if the job does not end by itself in 10 seconds. The thread sanitizer
// mistakes the order of Open MPI's own locks for a hazard, and Open MPI keeps some memory until the
// end.
JobResult run_failing_job(const std::string& how) {
  const std::string command =
      "TSAN_OPTIONS=detect_deadlocks=0 ASAN_OPTIONS=detect_leaks=0 timeout 10 " STRATA_SOURCE_DIR
      "/scripts/mpirun.sh -n 3 " +
      (testing_support::build_folder() / "tests/comm/failing_job").string() + " " + how + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), count);
  }
  return {WEXITSTATUS(pclose(pipe)), output};
}

void expect_to_fail_with(const std::string& how, const std::string& message) {
  const JobResult result = run_failing_job(how);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr(message));
}

TEST(MpiRuntime, AnExceptionOnOneRankEndsTheJobWithItsMessage) {
  expect_to_fail_with("throw", "strata: rank 1: shard 7 is unreadable");
}

// The first rank may find the same error as the others.
TEST(MpiRuntime, TheFirstRankTidiesItsFilesBeforeOthersEndTheJob) {
  const JobResult result = run_failing_job("everywhere");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("tidied"));
  EXPECT_THAT(result.output, HasSubstr("strata: rank 0: shard 7 is unreadable"));
}

// GPU memory is an example: freeing it may wait for ranks that never come.
TEST(MpiRuntime, AnErrorIsPrintedBeforeObjectsAreDestroyed) {
  expect_to_fail_with("release", "strata: rank 1: shard 7 is unreadable");
}

TEST(MpiRuntime, AnErrorOfADevicesCollectivesEndsTheJob) {
  expect_to_fail_with("broken", "strata: rank 1: the network is down");
}

TEST(MpiRuntime, AnExceptionThatLeavesItsScopeEndsTheJob) {
  expect_to_fail_with("unwind", "strata: rank 1: stopped by an error");
}

TEST(MpiRuntime, AKilledRankEndsTheJob) {
  const JobResult result = run_failing_job("kill");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.exit_code, 124) << "the job hung";
}

TEST(MpiRuntime, ARankThatStopsBeforeMpiStartsEndsTheJob) {
  const JobResult result = run_failing_job("absent");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr(": MPI has not started after 2 s; "));
}

TEST(MpiRuntime, ARankThatHangsEndsTheJobByName) {
  const JobResult result = run_failing_job("hang");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("strata: rank 0: no progress for 0.5 s in a collective: ranks 0 and "
                        "2 wait in an all-reduce, rank 1 in none; "));
  EXPECT_EQ(result.output.find("strata: "), result.output.rfind("strata: ")) << result.output;
  EXPECT_THAT(result.output, HasSubstr("rank 0 was here")) << "what it had said before is lost: ";
}

TEST(MpiRuntime, ARankThatWaitsElsewhereEndsTheJobByName) {
  const JobResult result = run_failing_job("stray");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr(": ranks 0 and 2 wait in an all-reduce, rank 1 in a barrier; "));
}

// NCCL may wait for a rank that hangs in the same way.
TEST(MpiRuntime, ADeviceThatDoesNotFinishEndsTheJobByName) {
  const JobResult result = run_failing_job("device");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr(": ranks 0 and 2 wait in the collectives of its device, rank 1 in none; "));
}

TEST(MpiRuntime, ManyShortWaitsForADeviceAreNotOneLongOne) {
  const JobResult result = run_failing_job("waits");
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(MpiRuntime, KnowsWhichProcessorsEveryRankMayUse) {
  const std::vector<int> mine = affinity();
  const JobResult result = run_failing_job("affinities");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr(fmt::format("[{0}][{1}][{0}]", fmt::join(mine, " "), mine.back())));
}

TEST(MpiRuntime, TheNameOfTheLibraryIsTheStartOfItsVersionText) {
  EXPECT_EQ(mpi_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(mpi_name("MPICH Version:      4.2.1\nMPICH Release date: 2024\n"), "MPICH 4.2.1");
  EXPECT_EQ(mpi_name("Intel(R) MPI Library 2021.11 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.11 for Linux* OS");
  EXPECT_EQ(mpi_name(""), "");
}

TEST(MpiRuntime, ThisProcessWasStartedWithoutMpi) { EXPECT_FALSE(launched_by_mpi()); }

using Variables = std::map<std::string, std::string>;

// Returns the error of check_launched_ranks(size) with these launcher variables, or an empty
// string.
std::string said_of(const Variables& variables, int size = 1) {
  const char* const all[] = {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",  "PMI_SIZE",
                             "MPI_LOCALNRANKS",      "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID",
                             "SLURM_STEPID",         "SLURM_PROCID",         "SLURM_NTASKS",
                             "SLURM_NPROCS"};
  Variables before;
  for (const char* name : all) {
    if (const char* value = std::getenv(name)) before[name] = value;
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::string said;
  try {
    check_launched_ranks(size);
  } catch (const Error& error) {
    said = error.what();
  }
  for (const char* name : all) ::unsetenv(name);
  for (const auto& [name, value] : before) ::setenv(name.c_str(), value.c_str(), 1);
  return said;
}

TEST(LaunchedRanks, ThatCannotFindEachOtherAreAnError) {
  const Variables launchers[] = {
      // srun without PMIx, and variables of older versions.
      {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
      {{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
      {{"SLURM_STEPID", "2"}, {"SLURM_NPROCS", "4"}, {"SLURM_PROCID", "0"}},
      {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "3"}},
      // mpiexec of MPICH or Intel, MVAPICH, and a library that does not match mpirun.
      {{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}},
      {{"MPI_LOCALNRANKS", "4"}},
      {{"MV2_COMM_WORLD_SIZE", "4"}},
      {{"OMPI_COMM_WORLD_SIZE", "4"}}};
  for (const Variables& variables : launchers) {
    const std::string said = said_of(variables);
    const std::string name = variables.begin()->first;
    EXPECT_THAT(said, HasSubstr("the launcher started 4 ranks (")) << name;
    EXPECT_THAT(said, HasSubstr("MPI has 1")) << name;
    EXPECT_THAT(said, HasSubstr("srun --mpi=pmix")) << name;
    EXPECT_THAT(said, HasSubstr("'env -u ")) << name;
    EXPECT_EQ(said_of(variables, 4), "") << name;
  }
}

TEST(LaunchedRanks, TheErrorNamesEveryVariableToUnset) {
  // Hydra; srun --mpi=pmi2.
  EXPECT_THAT(said_of({{"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}}),
              HasSubstr("(PMI_SIZE=4), but MPI has 1"));
  EXPECT_THAT(said_of({{"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}}),
              HasSubstr("'env -u PMI_SIZE -u MPI_LOCALNRANKS'"));
  EXPECT_THAT(said_of({{"PMI_SIZE", "4"},
                       {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_NTASKS", "4"}}),
              HasSubstr("'env -u PMI_SIZE -u SLURM_STEP_NUM_TASKS -u SLURM_NTASKS'"));
}

TEST(LaunchedRanks, ASingleProcessInAnAllocationOfManyTasksIsAccepted) {
  const Variables alone[] = {
      {},
      // Batch scripts in old and new versions; a shell of salloc.
      {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}},
      {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967291"}},
      {{"SLURM_NTASKS", "8"}, {"SLURM_NPROCS", "8"}},
      {{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "0"}},
      // mpirun's only rank inside a step, which is that of its daemons.
      {{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}},
      {{"SLURM_STEP_NUM_TASKS", "many"}}};
  for (const Variables& variables : alone) {
    EXPECT_EQ(said_of(variables), "") << (variables.empty() ? "" : variables.begin()->first);
  }
  EXPECT_EQ(said_of({{"SLURM_STEP_NUM_TASKS", "2"}}, 8), "") << "a component of a larger job";
}

}  // namespace
}  // namespace strata::comm
