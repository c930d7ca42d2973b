#include "comm/stall_watch.h"

#include "tests/support/matchers.h"

namespace strata::comm {
namespace {

std::string beginning(const std::string& message) { return message.substr(0, message.find(';')); }

TEST(StallMessage, NamesOperationsAndRanks) {
  EXPECT_EQ(beginning(stall_message(0, 600, {"a barrier", ""})),
            "no progress for 600 s in a collective: rank 0 waits in a barrier, rank 1 in none");
  EXPECT_EQ(beginning(stall_message(1, 0.5, {"", "a broadcast", "", "", "a broadcast", ""})),
            "no progress for 0.5 s in a collective: ranks 1 and 4 wait in a broadcast, ranks 0, 2, "
            "3 and 5 in none");
  EXPECT_EQ(beginning(stall_message(0, 5, {"x", "x", "x", "y", "y", "y", "y", "", "x"})),
            "no progress for 5 s in a collective: ranks 0 to 2 and 8 wait in x, ranks 3 to 6 in y, "
            "rank 7 in none");
}

TEST(StallMessage, NamesTheSettingOfTheLimit) {
  EXPECT_THAT(stall_message(0, 600, {"a barrier", ""}), HasSubstr("run.stall_seconds"));
}

}  // namespace
}  // namespace strata::comm
