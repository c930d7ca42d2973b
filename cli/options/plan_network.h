// The options of `strata plan` for the network.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/from_chars.h"
#include "cli/options/plan_layout.h"
#include "plan/forms/network.h"

namespace strata::cli {

inline constexpr int64_t kMostPlannedRanks = 1 << 20;

struct PlanNetworkOptions {
  std::string network;  // a card's link: "5e-6,25e9"
  std::string domain;   // a preset's name, or size and link: "8,3e-6,300e9"
  double cards = 0;     // 0: one for each accelerator of a domain

  bool given() const { return !network.empty() || !domain.empty(); }
  // Returns the network, or nullopt if none is given. Without --domain a domain is a node of
  // `ranks_per_node` ranks, whose own communication is part of the calibrated steps.
  std::optional<plan::Network> chosen(int64_t ranks_per_node) const {
    if (network.empty()) {
      if (given()) fail("--domain: needs --network, the link between domains");
      if (cards > 0) fail("--cards: needs --network, the link of a card");
      return std::nullopt;
    }
    plan::Network result;
    result.domain = ranks_per_node;
    if (!domain.empty()) set_domain(result);
    result.card = link_of(numbers_in(network), "--network " + network);
    result.cards = cards > 0 ? cards : static_cast<double>(result.domain);
    return result;
  }

 private:
  static std::vector<double> numbers_in(const std::string& text) {
    std::vector<double> numbers;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      double number = std::nan("");
      const auto [rest, error] = from_chars(text.data() + begin, text.data() + end, number);
      numbers.push_back(error == std::errc() && rest == text.data() + end ? number : std::nan(""));
      begin = end + 1;
    }
    return numbers;
  }

  static plan::Link link_of(const std::vector<double>& numbers, const std::string& option) {
    constexpr double kLongest = 3600, kSlowest = 1, kFastest = 1e18;
    if (numbers.size() == 2 && numbers[0] >= 0 && numbers[0] <= kLongest &&
        numbers[1] >= kSlowest && numbers[1] <= kFastest) {
      return {numbers[0], numbers[1]};
    }
    fail(
        "{}: expected SECONDS,BYTES_A_SECOND, such as 5e-6,25e9, with at most 3600 seconds and at "
        "least 1 byte a second",
        option);
  }

  void set_domain(plan::Network& result) const {
    std::string names;
    for (const plan::DomainPreset& preset : plan::domain_presets()) {
      if (domain == preset.name) {
        result.domain = preset.accelerators;
        result.inside = preset.inside;
        return;
      }
      names += fmt::format("{} ({}), ", preset.name, preset.hardware);
    }
    const std::vector<double> numbers = numbers_in(domain);
    const double ranks = numbers.front();
    if (numbers.size() != 3 || !(ranks >= 1 && ranks <= kMostPlannedRanks) ||
        ranks != std::floor(ranks)) {
      fail("--domain {}: expected {}or ACCELERATORS,SECONDS,BYTES_A_SECOND", domain, names);
    }
    result.domain = static_cast<int64_t>(ranks);
    result.inside = link_of({numbers[1], numbers[2]}, "--domain " + domain);
  }
};

// The help's sentences for options that are not given.
struct NetworkDefaults {
  std::string network = "Default: several nodes cost as much as in the calibration";
  std::string domain = "Default: one node, whose communication is part of the calibrated steps";
};

// `options` must outlive the parsing.
inline void add_network_options(CLI::App& command, PlanNetworkOptions& options,
                                const NetworkDefaults& defaults = {}) {
  std::string names;
  for (const plan::DomainPreset& preset : plan::domain_presets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  }
  command
      .add_option("--network", options.network,
                  "Link of a network card to other domains (--domain): SECONDS per message, BYTES "
                  "per second. " +
                      defaults.network)
      ->type_name("SECONDS,BYTES");
  command
      .add_option("--domain", options.domain,
                  "A domain, the accelerators that a fast link joins: " + names +
                      ", or ACCELERATORS,SECONDS,BYTES_A_SECOND (seconds per message). " +
                      defaults.domain)
      ->type_name("DOMAIN");
  command
      .add_option("--cards", options.cards,
                  "Number of network cards of a domain (default: one per accelerator)")
      ->check(number_within(0.001, 1e6));
}

}  // namespace strata::cli
