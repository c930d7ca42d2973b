#include "scoring/plots/plot_parts.h"

#include <gtest/gtest.h>

namespace strata::scoring {
namespace {

TEST(PlotParts, AcceleratorsAreNamedByTheirModel) {
  EXPECT_EQ(accelerators_in_short(64, "NVIDIA A100-SXM4-80GB (400W)"), "64 A100");
  EXPECT_EQ(accelerators_in_short(2, "NVIDIA RTX A5000"), "2 RTX A5000");
  EXPECT_EQ(accelerators_in_short(4096, "TPU-v4"), "4096 TPU-v4");
  EXPECT_EQ(accelerators_in_short(16, "Graphcore Bow IPU"), "16 Bow IPU");
  EXPECT_EQ(accelerators_in_short(8, "Habana Gaudi HL-205"), "8 Gaudi HL-205");
  EXPECT_EQ(accelerators_in_short(std::nullopt, "TPU-v4"), "");
  EXPECT_EQ(accelerators_in_short(8, ""), "");
  EXPECT_EQ(accelerators_in_short(8, "(400W)"), "");
}

TEST(PlotParts, ModelsOfOneGenerationAreDistinct) {
  EXPECT_EQ(accelerators_in_short(512, "NVIDIA Blackwell GPU (GB200)"), "512 GB200");
  EXPECT_EQ(accelerators_in_short(8, "NVIDIA Blackwell GPU (B200-SXM-180GB)"), "8 B200");
  EXPECT_EQ(accelerators_in_short(8, "NVIDIA B200-SXM-180GB"), "8 B200");
  EXPECT_EQ(accelerators_in_short(8, "AMD Instinct MI325X 256GB HBM3e"), "8 Instinct MI325X");
  EXPECT_EQ(accelerators_in_short(8, "Intel(R) Gaudi(R) 2"), "8 Gaudi 2");
}

TEST(PlotParts, MachinesWithoutAcceleratorsHaveNoAcceleratorName) {
  EXPECT_EQ(accelerators_in_short(0, "N/A"), "");
  EXPECT_EQ(accelerators_in_short(8, "N/A"), "");
}

TEST(PlotParts, RoundsAreNamedAsPeopleDo) {
  EXPECT_EQ(round_in_short("2.1.0"), "v2.1");
  EXPECT_EQ(round_in_short(""), "");
}

}  // namespace
}  // namespace strata::scoring
