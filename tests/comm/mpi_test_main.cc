#include <gtest/gtest.h>

#include "comm/mpi/mpi_runtime.h"

// Every rank runs every test. The first rank prints the progress, the others only their failures.
int main(int argc, char** argv) {
  const strata::comm::MpiRuntime mpi;
  GTEST_FLAG_SET(brief, mpi.rank() != 0);
  testing::InitGoogleTest(&argc, argv);
  return mpi.run([] { return RUN_ALL_TESTS(); });
}
