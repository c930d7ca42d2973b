#include "base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "tests/support/matchers.h"

namespace strata {
namespace {

std::string message_of_what_is_thrown(const auto& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return message_of(error);
  }
  return "";
}

TEST(MessageOf, ReturnsTheTextOfAnError) {
  EXPECT_EQ(message_of_what_is_thrown([] { fail("{}: no such file", "x.yaml"); }),
            "x.yaml: no such file");
}

TEST(MessageOf, AFailedAllocationNamesSettingsThatSaveMemory) {
  const std::string message = message_of_what_is_thrown([] { throw std::bad_alloc(); });
  EXPECT_EQ(message.find("out of memory; use a smaller batch.micro_batch"), 0u) << message;
}

TEST(MessageOf, AFileThatCannotBeRemovedIsNamed) {
  const std::string message = message_of_what_is_thrown([] {
    throw std::filesystem::filesystem_error("cannot remove", "x.yaml",
                                            std::make_error_code(std::errc::permission_denied));
  });
  EXPECT_THAT(message, HasSubstr("x.yaml"));
  EXPECT_THAT(message, Not(HasSubstr("unexpected")));
}

TEST(MessageOf, OtherExceptionsAreCalledUnexpected) {
  EXPECT_EQ(message_of_what_is_thrown([] { throw std::runtime_error("x"); }),
            "unexpected error: x");
}

TEST(PrintToStderr, DoesNotThrowIfStderrIsFull) {
  const int before = ::dup(STDERR_FILENO), full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  ::dup2(full, STDERR_FILENO);
  EXPECT_NO_THROW(print_to_stderr("rank {}: a message\n", 1));
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(full);
  testing::internal::CaptureStderr();
  print_to_stderr("rank {}: a message\n", 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "rank 1: a message\n");
}

}  // namespace
}  // namespace strata
