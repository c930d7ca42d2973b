#include "training/factories/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/text/counts.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"

namespace strata::training {
namespace {

// A checkpoint with an optimizer's state has hundreds of names.
std::string first_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  const std::span shown = std::span(names).first(std::min(names.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

}  // namespace

bert::HostWeights make_weights(const config::RunConfig& config, const bert::ParameterLayout& layout,
                               uint64_t seed,
                               const std::function<void(const std::string&)>& describe,
                               const LocalRank& local) {
  const auto threads = static_cast<unsigned>(thread_count(config, local));
  if (!config.model.checkpoint) {
    describe("weights: random (model.checkpoint is not set)");
    return bert::random_weights(layout, seed, threads);
  }
  check_checkpoint_path(config.model);
  bert::LoadedWeights loaded = bert::load_weights(layout, *config.model.checkpoint, seed, threads);
  describe(fmt::format("weights: {}", config.model.checkpoint->string()));
  if (!loaded.initialised.empty()) {
    describe(fmt::format("weights: initialised, because the file lacks them: {}",
                         first_of(loaded.initialised)));
  }
  if (loaded.padding_rows > 0) {
    describe(fmt::format("weights: ignored {} of padding after the vocabulary",
                         counted(loaded.padding_rows, "row")));
  }
  if (!loaded.unused.empty()) {
    describe(
        fmt::format("weights: ignored, because the model lacks them: {}", first_of(loaded.unused)));
  }
  return std::move(loaded.values);
}

}  // namespace strata::training
