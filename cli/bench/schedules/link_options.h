// The options --gbits, --latency-us, --real-network and --sleep of measurements with communication.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text/counts.h"
#include "comm/emulated/slow_link.h"

namespace strata::cli {

inline constexpr double kBytesPerGigabit = 1e9 / 8;

// Accepts a number in [least, most]. CLI::Range would accept nan.
inline CLI::Validator between(double least, double most) {
  return {[=](std::string& text) {
            double value = 0;
            const bool number = CLI::detail::lexical_cast(text, value);
            return number && value >= least && value <= most
                       ? std::string()
                       : fmt::format("{} is not a number from {} to {}", text, count_text(least),
                                     count_text(most));
          },
          "NUMBER"};
}
inline CLI::Validator a_speed() { return between(1e-6, 1e9); }

// `gigaflops` must outlive the parsing.
inline void add_sleep_option(CLI::App& command, double& gigaflops) {
  command
      .add_option("--sleep", gigaflops,
                  "Instead of computing, sleep as long as a device of this many GFLOP/s would "
                  "compute; for more ranks than cores")
      ->check(a_speed());
}

struct LinkOptions {
  bool real_network = false;
  double gigabits_per_second = 0;
  double latency_microseconds = 0;

  // Returns the link to emulate, or nullopt for none.
  std::optional<comm::Link> link() const {
    if (real_network) return std::nullopt;
    return comm::Link{gigabits_per_second * kBytesPerGigabit, latency_microseconds * 1e-6};
  }
};

struct AddedLinkOptions {
  CLI::Option *real_network, *speed;
};

// `options` must outlive the parsing.
inline AddedLinkOptions add_link_options(CLI::App& command, LinkOptions& options,
                                         const std::string& speed_help) {
  CLI::Option* real = command.add_flag("--real-network", options.real_network,
                                       "Measure the real network instead of an emulated link");
  CLI::Option* speed = command.add_option("--gbits", options.gigabits_per_second, speed_help)
                           ->check(a_speed())
                           ->excludes(real);
  command
      .add_option("--latency-us", options.latency_microseconds,
                  "Latency of the emulated link in microseconds")
      ->check(between(0, 1e9))
      ->excludes(real)
      ->capture_default_str();
  return {real, speed};
}

inline nlohmann::ordered_json link_to_json(const comm::Link& link) {
  return {{"gigabits_per_second", link.bytes_per_second / kBytesPerGigabit},
          {"latency_seconds", link.latency_seconds}};
}

inline std::string describe_link(const std::optional<comm::Link>& link) {
  if (!link) return "the real network";
  return fmt::format("an emulated link of {:.3f} Gbit/s, {:.0f} us",
                     link->bytes_per_second / kBytesPerGigabit, link->latency_seconds * 1e6);
}

}  // namespace strata::cli
