// A directory that is removed after the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace strata::testing_support {

class TemporaryDirectory : public ::testing::Test {
 protected:
  TemporaryDirectory() { std::filesystem::create_directories(directory_); }
  ~TemporaryDirectory() override { std::filesystem::remove_all(directory_); }

  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("strata.") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
       "." + std::to_string(::getpid()));
};

}  // namespace strata::testing_support
