// The accuracies to which MLPerf's benchmarks are trained.
#pragma once

#include <optional>
#include <string_view>

namespace strata::compliance {

// The quality target of a benchmark in the closed division of a round of MLPerf Training ("2.1.0"),
// as the round's official rules have it (mlperf_logging 6.1, compliance_checker,
// closed_<benchmark>.yaml); without a round the target of all rounds, if it never changed. Empty
// where the benchmark is not known, or its target is not one number.
std::optional<double> published_target(std::string_view benchmark, std::string_view round = "");

}  // namespace strata::compliance
