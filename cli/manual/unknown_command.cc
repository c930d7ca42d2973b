#include "cli/manual/unknown_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace strata::cli {
namespace {

// Returns the edit distance: letters to insert, remove, replace or swap with their neighbour.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      d[i][j] = i == 0 ? j : i;
      if (i == 0 || j == 0) continue;
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

#ifndef STRATA_TRAINING
// The commands that a build without training lacks.
constexpr std::string_view kOfTraining[] = {"train", "eval", "data", "search", "bench"};
#endif

// `path` names the commands before the word.
[[noreturn]] void refuse(const CLI::App& app, const std::string& path, const std::string& word) {
  constexpr size_t kShown = 80;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string shown = word.substr(0, kShown);
#ifndef STRATA_TRAINING
  if (path == app.get_name() && std::ranges::find(kOfTraining, word) != std::end(kOfTraining)) {
    fail(
        "'{} {}': this program has only the tools; install the package strata-training, or build "
        "with the preset release",
        path, word);
  }
#endif
  const auto nearest = std::min_element(
      names.begin(), names.end(),
      [&](const auto& a, const auto& b) { return distance(shown, a) < distance(shown, b); });
  const bool near = distance(shown, *nearest) <= std::max<size_t>(1, nearest->size() / 2);
  fail("unknown command '{} {}'{} (commands: {})", path, shown,
       near ? fmt::format("; did you mean '{}'?", *nearest) : "", fmt::join(names, ", "));
}

}  // namespace

void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    // Only flags precede the last command.
    if (word.starts_with('-')) continue;
    const auto commands = at->get_subcommands({});
    if (commands.empty()) return;
    const auto named = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->check_name(word);
    });
    if (named == commands.end()) refuse(*at, path, word);
    at = *named;
    path += ' ' + at->get_name();
  }
}

}  // namespace strata::cli
