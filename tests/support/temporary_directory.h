// A directory that is removed after the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace strata::testing_support {

class TemporaryDirectory : public ::testing::Test {
 protected:
  ~TemporaryDirectory() override { std::filesystem::remove_all(directory_); }

  const std::filesystem::path directory_ = make();

 private:
  // The system chooses the name: another user may test at the same time.
  static std::filesystem::path make() {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(test, '/', '.');
    std::string name =
        (std::filesystem::path(::testing::TempDir()) / ("strata." + test + ".XXXXXX")).string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    return name;
  }
};

}  // namespace strata::testing_support
