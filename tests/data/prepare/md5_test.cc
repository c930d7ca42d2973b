#include "data/prepare/md5.h"

#include <gtest/gtest.h>

namespace strata::data {
namespace {

// RFC 1321, A.5.
TEST(Md5, MatchesTheTestVectorsOfTheStandard) {
  EXPECT_EQ(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace strata::data
