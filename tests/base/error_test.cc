#include "base/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <system_error>

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

TEST(MessageOf, AnErrorIsItsOwn) {
  EXPECT_EQ(message_of_what_is_thrown([] { fail("{}: no such file", "x.yaml"); }),
            "x.yaml: no such file");
}

TEST(MessageOf, AFailedAllocationSaysWhatTakesLessMemory) {
  const std::string message = message_of_what_is_thrown([] { throw std::bad_alloc(); });
  EXPECT_EQ(message.find("out of memory: a smaller batch.micro_batch"), 0u) << message;
}

TEST(MessageOf, AFileThatCannotBeRemovedIsNamed) {
  const std::string message = message_of_what_is_thrown([] {
    throw std::filesystem::filesystem_error("cannot remove", "x.yaml",
                                            std::make_error_code(std::errc::permission_denied));
  });
  EXPECT_NE(message.find("x.yaml"), std::string::npos) << message;
  EXPECT_EQ(message.find("unexpected"), std::string::npos) << message;
}

TEST(MessageOf, OtherExceptionsAreMarked) {
  EXPECT_EQ(message_of_what_is_thrown([] { throw std::runtime_error("x"); }), "unexpected: x");
}

}  // namespace
}  // namespace strata
