#include <gtest/gtest.h>

#include "base/error.h"
#include "report/watch.h"

namespace strata::report {
namespace {

TEST(AbsentReportServer, SaysThatItWasLeftOutAndWhatElseToDo) {
  const auto text = [] { return std::string(); };
  try {
    ReportServer server({}, text, text);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--watch: this strata was built without its server"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace strata::report
