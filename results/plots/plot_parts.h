// What pictures of runs and of scores have in common.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "results/plots/number_axis.h"

namespace strata::results {

// Inches from one line of text to the next.
constexpr double kLineHeight = 0.165;

// Colours of systems, as gnuplot's hexadecimal numbers, which people tell apart whatever their eyes
// (after Okabe and Ito, "Color Universal Design") and which are dark enough for text. Reports have
// the same ones (page.css).
constexpr std::string_view kColours[] = {"0072b2", "d55e00", "00805f", "b3478f",
                                         "7a5c00", "5a4fcf", "a3272b"};
constexpr std::string_view kGrey = "808080", kPaleGrey = "c8c8c8";

// A system that is drawn.
struct NamedSystem {
  std::string name, submitter;
};
// The number of each system's colour, given the systems in the order of their median runs: one for
// each system if there are enough colours or only one submitter, else one for each submitter.
// Numbers from std::size(kColours) on stand for grey.
std::vector<size_t> colour_numbers(const std::vector<NamedSystem>& systems);

// Plain text of at most `most` characters, at least 8: the middle of a longer one is left out.
std::string shortened(std::string_view text, size_t most);
// The names in at most `most` characters each, without their middles; names that would then be the
// same are left whole.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most);
// Of plain text, in inches: about.
double width_of(std::string_view text);

// "64 A100" for "NVIDIA A100-SXM4-80GB (400W)": how many, and their model in short; empty where
// either is unknown.
std::string accelerators_in_short(std::optional<int64_t> count, const std::string& model);

// Tics at these numbers, as gnuplot's `set xtics` takes them.
std::string tics_at(const std::vector<double>& numbers);

// "v2.1" for "2.1.0"; empty for none.
std::string round_in_short(const std::string& round);

// "36 systems", "1 system".
std::string counted(size_t count, std::string_view thing);

// The one benchmark of all `items`.
template <typename Items, typename BenchmarkOf>
std::string only_benchmark(const Items& items, const BenchmarkOf& name_of) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(shortened(name_of(item), 40));
  if (names.size() > 1) {
    const bool unnamed = names.erase("") > 0;
    fail("runs of several benchmarks ({}{}): a plot shows one; choose it with --benchmark",
         fmt::join(names, ", "), unnamed ? ", some unnamed" : "");
  }
  return *names.begin();
}

}  // namespace strata::results
