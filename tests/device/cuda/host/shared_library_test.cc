#include "device/cuda/host/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace strata::device::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SharedLibrary, FindsFunctionsOfTheFirstFileThatIsThere) {
  const SharedLibrary library({"libstrata_absent.so.1", "libm.so.6"}, "tests need it");
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibrary, AMissingLibraryIsNamedWithItsUser) {
  EXPECT_THAT(error_of([] {
                SharedLibrary({"libstrata_absent.so.1", "/absent/libstrata.so"}, "tests need it");
              }),
              AllOf(HasSubstr("tests need it: libstrata_absent.so.1: "),
                    HasSubstr("put its folder in LD_LIBRARY_PATH")));
}

TEST(SharedLibrary, AFunctionThatItLacksIsNamed) {
  const SharedLibrary library({"libm.so.6"}, "tests need it");
  void (*absent)() = nullptr;
  EXPECT_EQ(error_of([&] { library.find(absent, "strata_absent"); }),
            "libm.so.6: lacks the function strata_absent; install another version");
}

}  // namespace
}  // namespace strata::device::cuda
