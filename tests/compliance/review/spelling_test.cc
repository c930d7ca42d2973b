#include "compliance/review/spelling.h"

#include <gtest/gtest.h>

#include "compliance/review/described_system.h"

namespace strata::compliance {
namespace {

TEST(Spelling, OneNameHasOneFormInEveryEncoding) {
  for (const char* name : {"Z\xc3\xbcrich Syst\xc3\xa8mes",                  // UTF-8
                           "Zu\xcc\x88rich Syste\xcc\x80mes",                // decomposed
                           "Z\xfcrich Syst\xe8mes",                          // Latin-1
                           "Z\xc3\x83\xc2\xbcrich Syst\xc3\x83\xc2\xa8mes",  // encoded twice
                           "Zurich Systemes"}) {
    EXPECT_EQ(without_accents(name), "Zurich Systemes") << name;
  }
  EXPECT_EQ(without_accents("Stra\xc3\x9f"
                            "e \xc5\x81\xc3\xb3\xc5\xba"),
            "Strasse Loz");
}

TEST(Spelling, OtherLettersStay) {
  for (const char* name :
       {"", "Acme", "\xe6\xb5\xaa\xe6\xbd\xae", "\xd0\xaf\xd0\xbd", "\xf0\x9f\x9a\x80"}) {
    EXPECT_EQ(without_accents(name), name);
  }
}

TEST(Spelling, ASubmittersNameMatchesInEveryEncoding) {
  for (const char* logged :
       {"Z\\u00fcrich", "Z\xfcrich", "Zu\xcc\x88rich", "Z\xc3\x83\xc2\xbcrich"}) {
    RunRecord record;
    const auto system = read_described_system("{\"submitter\": \"" + std::string(logged) + "\"}");
    record.submission["org"] = {"Z\xc3\xbcrich", 0};
    EXPECT_TRUE(review_system(record, system, "bert").empty()) << logged;
  }
  RunRecord record;
  record.submission["org"] = {"Bern", 0};
  EXPECT_EQ(
      review_system(record, read_described_system(R"({"submitter": "Zürich"})"), "bert").size(),
      1u);
}

}  // namespace
}  // namespace strata::compliance
