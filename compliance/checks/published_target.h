// The accuracies to which MLPerf's benchmarks are trained.
#pragma once

#include <optional>
#include <string_view>

namespace strata::compliance {

// Returns the quality target of a benchmark in the closed division of an MLPerf Training round
// ("2.1.0"), from the round's official rules (mlperf_logging 6.1, compliance_checker,
// closed_<benchmark>.yaml). Without a round, returns the target of all rounds if it never changed.
// Empty if the benchmark is not known, or its target is not one number.
std::optional<double> published_target(std::string_view benchmark, std::string_view round = "");

}  // namespace strata::compliance
