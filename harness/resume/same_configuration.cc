#include "harness/resume/same_configuration.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files/files.h"

namespace strata::harness {
namespace {

namespace fs = std::filesystem;

// kEnds compares the lengths, and the first and last megabyte. This suffices if a run resumes,
// because its checkpoint has a checksum of the samples' lengths.
enum class Looks : uint8_t { kEverywhere, kEnds };

bool same_bytes(const fs::path& a, const fs::path& b, Looks looks) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::error_code error;
  const uint64_t size = fs::file_size(a, error);
  if (error || fs::file_size(b, error) != size || error) return false;
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  std::string one(kPiece, '\0'), other(kPiece, '\0');
  for (uint64_t at = 0; at < size;) {
    const uint64_t bytes = std::min(kPiece, size - at);
    for (auto* file : {&first, &second}) file->seekg(static_cast<std::streamoff>(at));
    first.read(one.data(), static_cast<std::streamsize>(bytes));
    second.read(other.data(), static_cast<std::streamsize>(bytes));
    if (!first || !second || !std::equal(one.begin(), one.begin() + bytes, other.begin()))
      return false;
    const bool leaps = looks == Looks::kEnds && at == 0 && size > 2 * kPiece;
    at = leaps ? size - kPiece : at + bytes;
  }
  return true;
}

// Compares files by their bytes, and folders by the names and contents of their files.
bool same_contents(const fs::path& a, const fs::path& b, Looks looks) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::is_regular_file(a, error))
    return fs::is_regular_file(b, error) && same_bytes(a, b, looks);
  if (!fs::is_directory(a, error) || !fs::is_directory(b, error)) return false;
  const auto first = list_directory(a, error), second = list_directory(b, error);
  return std::ranges::equal(first, second, [&](const fs::path& one, const fs::path& other) {
    return one.filename() == other.filename() && same_contents(one, other, looks);
  });
}

// Assumes that a folder around the results moved, and took them from `from` to `to`. Returns the
// new place of `path`, or `path` itself if it was outside that folder.
fs::path moved(const fs::path& path, const fs::path& from, const fs::path& to) {
  fs::path old_root = from, new_root = to;
  while (old_root.has_relative_path() && new_root.has_relative_path() &&
         old_root.filename() == new_root.filename()) {
    old_root = old_root.parent_path();
    new_root = new_root.parent_path();
  }
  const fs::path within = path.lexically_relative(old_root);
  if (within.empty() || *within.begin() == "..") return path;
  return (new_root / within).lexically_normal();
}

}  // namespace

std::vector<std::string> configuration_differences(config::RunConfig theirs, config::RunConfig ours,
                                                   const ConfigurationComparison& comparison) {
  const fs::path from = theirs.run.output.lexically_normal(),
                 to = ours.run.output.lexically_normal();
  const auto match = [&](fs::path& before, const fs::path& now) {
    const Looks looks = comparison.by_checkpoint ? Looks::kEnds : Looks::kEverywhere;
    const bool same =
        exists_or_is_link(before)
            ? same_contents(before, now, looks)
            : comparison.by_checkpoint || moved(before, from, to) == now.lexically_normal();
    if (same) before = now;
  };
  const auto match_all = [&](std::vector<fs::path>& before, const std::vector<fs::path>& now) {
    for (size_t i = 0; i < before.size() && before.size() == now.size(); ++i)
      match(before[i], now[i]);
  };
  const auto match_one = [&](std::optional<fs::path>& before, const std::optional<fs::path>& now) {
    if (before && now) match(*before, *now);
  };
  match_all(theirs.data.train, ours.data.train);
  match_all(theirs.data.eval, ours.data.eval);
  match_one(theirs.data.shapes, ours.data.shapes);
  match_one(theirs.model.vocab, ours.model.vocab);
  match_one(theirs.model.checkpoint, ours.model.checkpoint);
  // A preset is a name, not a path.
  if (fs::path(theirs.model.config).is_absolute() && fs::path(ours.model.config).is_absolute()) {
    fs::path config = theirs.model.config;
    match(config, ours.model.config);
    theirs.model.config = config.string();
  }
  for (config::RunConfig* config : {&theirs, &ours}) {
    config->run.output.clear();
    config->run.experiments = 1;
    config->run.stall_seconds = 0;
    config->checkpoint = {};
    if (comparison.other_ranks) {  // other ranks may divide global batches in another way
      config->batch.micro_batch = config->batch.gradient_accumulation_steps = 1;
      config->device.threads = {};
      config->parallel = {};
    }
  }
  return config::differences(theirs, ours);
}

}  // namespace strata::harness
