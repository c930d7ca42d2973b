// GoogleMock matchers that tests share.
#pragma once

#include <gmock/gmock.h>

namespace strata {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

}  // namespace strata
