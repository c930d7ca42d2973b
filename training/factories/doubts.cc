#include "training/factories/doubts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <utility>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "data/files/instance_file.h"

namespace strata::training {
namespace {

// Identifies a file whatever its name is.
using FileId = std::pair<dev_t, ino_t>;

// The files of a data set, each with its path below one of `paths`.
std::vector<std::pair<std::filesystem::path, FileId>> files_of(
    const std::vector<std::filesystem::path>& paths) {
  std::vector<std::pair<std::filesystem::path, FileId>> files;
  const auto add = [&](const std::filesystem::path& file) {
    struct stat status;
    if (::stat(file.c_str(), &status) == 0) {
      files.emplace_back(file, FileId{status.st_dev, status.st_ino});
    }
  };
  for (const std::filesystem::path& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      add(path);
      continue;
    }
    for (const std::filesystem::path& file : list_directory(path, ignored)) {
      if (data::is_named_as_data(file)) add(file);
    }
  }
  return files;
}

std::vector<std::string> doubts_about_files(const config::DataConfig& data) {
  std::vector<std::string> doubts;
  // The files that a key names, each once.
  const auto distinct = [&](const char* key, const std::vector<std::filesystem::path>& paths) {
    std::map<FileId, std::filesystem::path> seen;
    for (const auto& [path, file] : files_of(paths)) {
      const auto [before, is_new] = seen.try_emplace(file, path);
      if (is_new) continue;
      doubts.push_back(before->second == path
                           ? fmt::format("{}: {}: is given twice; give it once", key, path.string())
                           : fmt::format("{}: {}: is the same file as {}; give it once", key,
                                         path.string(), before->second.string()));
    }
    return seen;
  };
  const auto train = distinct("data.train", data.train), eval = distinct("data.eval", data.eval);
  for (const auto& [file, path] : eval) {
    const auto trained = train.find(file);
    if (trained == train.end()) continue;
    doubts.push_back(
        fmt::format("data.eval: {}: data.train has this file, too ({}); evaluate on samples that "
                    "the run does not train on",
                    path.string(), trained->second.string()));
  }
  return doubts;
}

}  // namespace

std::vector<std::string> doubts_about(const config::RunConfig& config, int ranks) {
  std::vector<std::string> doubts = doubts_about_files(config.data);
  const int64_t batch = global_batch_size(config, ranks), samples = max_steps(config) * batch;
  if (batch == 0) return doubts;  // too few ranks for a model, which check_stages() refuses
  if (const int64_t first = samples_at_next_evaluation(config, ranks, 0); first > samples) {
    doubts.push_back(fmt::format(
        "target: the first evaluation is due at {}, but the run's {} of {} end at {}, so the run "
        "cannot reach its target; lower target.eval_interval_samples or "
        "target.start_eval_at_sample, or raise target.max_steps or the global batch (more ranks)",
        counted(first, "sample"), counted(max_steps(config), "step"), counted(batch, "sample"),
        count_text(samples)));
  }
  return doubts;
}

}  // namespace strata::training
