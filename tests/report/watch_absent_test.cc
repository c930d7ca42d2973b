#include "base/error.h"
#include "report/watch.h"
#include "tests/support/matchers.h"

namespace strata::report {
namespace {

TEST(AbsentReportServer, NamesTheMissingServerAndARemedy) {
  const auto text = [] { return std::string(); };
  try {
    ReportServer server({}, text, text);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()),
                HasSubstr("--watch: this strata was built without its server"));
  }
}

}  // namespace
}  // namespace strata::report
