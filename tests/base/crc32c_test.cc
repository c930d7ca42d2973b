#include "base/files/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, MatchesTheTestVectorsOfTheStandard) {
  for (const auto crc : {crc32c, portable_crc32c}) {
    std::string rising(32, '\0');
    for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
    EXPECT_EQ(crc(std::string(32, '\0'), 0), 0x8a9136aau);
    EXPECT_EQ(crc(std::string(32, '\xff'), 0), 0x62a8ab43u);
    EXPECT_EQ(crc(rising, 0), 0x46dd794eu);
    EXPECT_EQ(crc("123456789", 0), 0xe3069283u);
  }
}

TEST(Crc32c, CanBeContinuedAfterAnyNumberOfBytes) {
  const std::string_view all = "123456789 and more than a word";
  for (const auto crc : {crc32c, portable_crc32c}) {
    for (size_t cut = 0; cut <= all.size(); ++cut) {
      EXPECT_EQ(crc(all.substr(cut), crc(all.substr(0, cut), 0)), crc(all, 0)) << cut;
    }
  }
}

// tests/bert/weights/tensorflow_checkpoint_test.cc checks values written by TensorFlow.
TEST(Crc32c, IsMasked) { EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u); }

}  // namespace
}  // namespace strata
