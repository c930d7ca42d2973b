// The options --steps and --tokens of measurements of training steps.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace strata::cli {

// `steps` and `micro_batch_tokens` hold the defaults, and must outlive the parsing.
inline void add_step_options(CLI::App& command, const std::string& steps_help, int& steps,
                             int64_t& micro_batch_tokens) {
  command.add_option("--steps", steps, steps_help)
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      .add_option("--tokens", micro_batch_tokens,
                  "Tokens of a micro-batch, instead of batch.micro_batch sequences")
      ->check(CLI::Range(1, 1 << 24));
}

inline void add_length_option(CLI::App& command, int32_t& length) {
  command
      .add_option("--length", length,
                  "Tokens of every sequence, instead of MLPerf Wikipedia's mix of lengths")
      ->check(CLI::Range(1, 65535));
}

}  // namespace strata::cli
