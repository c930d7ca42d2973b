#include "comm/order/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace strata::comm {
namespace {

using testing::ElementsAre;

TEST(OperationList, KnowsWhatFollowsAnOperation) {
  OperationList list;
  EXPECT_EQ(list.add({.lane = Lane::kCompute}), 0);
  EXPECT_EQ(list.add({.lane = Lane::kArithmetic, .after = {0, 0}}), 1);
  EXPECT_EQ(list.add({.lane = Lane::kArithmetic, .after = {1, 0}}), 2);
  EXPECT_THAT(list.followers(0), ElementsAre(1, 2));
  EXPECT_THAT(list.followers(1), ElementsAre(2));
  EXPECT_THAT(list.lane(Lane::kArithmetic), ElementsAre(1, 2));
  EXPECT_TRUE(list.crosses_lanes(0));
  EXPECT_FALSE(list.crosses_lanes(1));
}

TEST(OperationList, RefusesToWaitForWhatIsNotInTheList) {
  for (const int before : {-1, 0, 1}) {
    OperationList list;
    EXPECT_THROW(list.add({.after = {before}}), Error) << before;
  }
}

}  // namespace
}  // namespace strata::comm
