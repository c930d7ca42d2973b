#include "harness/record/output_lock.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class OutputLockTest : public testing_support::TemporaryDirectory {};

TEST_F(OutputLockTest, IsHeldOnceAtATime) {
  std::optional<OutputLock> lock(directory_);
  EXPECT_EQ(testing_support::error_of([&] { OutputLock second(directory_); }),
            directory_.string() +
                ": another job writes its results here; wait for it, or choose another run.output");
  const OutputLock moved(std::move(*lock));
  lock.reset();
  EXPECT_THROW(OutputLock{directory_}, Error) << "it is still held, by another object";
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "it left a file";
}

TEST_F(OutputLockTest, EndsWithItsObject) {
  { const OutputLock lock(directory_); }
  EXPECT_NO_THROW(OutputLock{directory_});
}

// Without a standard input, the directory gets descriptor 0.
TEST_F(OutputLockTest, EndsWithItsObjectWithoutAStandardInput) {
  const int before = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  { const OutputLock lock(directory_); }
  const bool closed = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  EXPECT_TRUE(closed);
  EXPECT_NO_THROW(OutputLock{directory_});
}

TEST_F(OutputLockTest, EndsWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputLock lock(directory_);
    std::filesystem::create_directory(directory_ / "locked");
    for (;;) ::pause();
  }
  while (!std::filesystem::exists(directory_ / "locked")) ::usleep(1000);
  EXPECT_THROW(OutputLock{directory_}, Error);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(OutputLock{directory_});
}

TEST_F(OutputLockTest, ADirectoryThatIsNotThereIsNamed) {
  const auto nowhere = directory_ / "nowhere";
  EXPECT_EQ(testing_support::error_of([&] { OutputLock lock(nowhere); }),
            nowhere.string() + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace strata::harness
