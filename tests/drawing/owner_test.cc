#include "drawing/owner.h"

#include <gtest/gtest.h>

namespace strata::drawing {
namespace {

TEST(OwnerLabel, CutsTheNameAndNeverItsDetail) {
  const Owner owner{.name = "Acme a_very_long_name_of_a_system", .detail = "512 x B200"};
  EXPECT_EQ(owner.label(100), "Acme a_very_long_name_of_a_system, 512 x B200");
  EXPECT_EQ(owner.label(30), "Acme a_v..._system, 512 x B200");
  EXPECT_EQ(owner.label(1), "Acm...em, 512 x B200");
  EXPECT_EQ(Owner::coloured(0, "a longer text").label(10), "a lo...ext");
}

TEST(ColoursFor, GiveEverySystemItsOwnIfThereAreEnough) {
  EXPECT_EQ(colours_for({{"a", "x"}, {"b", "y"}, {"a", "x"}}), (std::vector<int>{0, 1, 0}));
  std::vector<NamedSystem> systems;
  for (int i = 0; i <= kColours; ++i) systems.push_back({"system " + std::to_string(i), "x"});
  EXPECT_EQ(colours_for(systems).back(), -1) << "one submitter has no other way";
}

TEST(ColoursFor, GiveManySystemsTheirSubmittersColour) {
  std::vector<NamedSystem> systems;
  for (int i = 0; i < 9; ++i) {
    systems.push_back({std::to_string(i) + "a", std::to_string(i)});
    systems.push_back({std::to_string(i) + "b", std::to_string(i)});
  }
  EXPECT_EQ(colours_for(systems),
            (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, -1, -1, -1, -1}));
}

}  // namespace
}  // namespace strata::drawing
