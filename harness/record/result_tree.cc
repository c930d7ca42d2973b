#include "harness/record/result_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/run_log.h"
#include "mllog/log_reader.h"

namespace strata::harness {
namespace {

std::filesystem::path result(const ResultTree& tree, int experiment, const char* ending) {
  return tree.results() / fmt::format("result_{}{}", experiment, ending);
}

// All files of a run. The log is renamed last, because it marks that the run exists.
std::vector<std::filesystem::path> files_of_run(const ResultTree& tree, int experiment) {
  return {tree.step_trace(experiment), tree.tensorboard(experiment), tree.timeline(experiment),
          tree.checkpoint(experiment), tree.checkpoints(experiment), tree.config(experiment),
          tree.log(experiment)};
}

// An empty file or folder can be overwritten without a loss. Links are never followed.
bool holds_something(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(status)) return false;
  const bool may_be_empty =
      std::filesystem::is_regular_file(status) || std::filesystem::is_directory(status);
  return !may_be_empty || !std::filesystem::is_empty(path, error);
}

// Returns whether a run and its keeper were killed before run_start.
bool has_not_begun(const std::filesystem::path& log) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(log, error))) return false;
  bool any = false, began = false;
  mllog::LogReader(log, mllog::LogFormat::kMllog).visit([&](const auto& event) {
    any = true;
    began = event.key == log_keys::kRunStart;
    return !began;
  });
  return any && !began;
}

std::filesystem::path archived_path(const std::filesystem::path& path, int number) {
  return fmt::format("{}.interrupted.{}", path.string(), number);
}

// Returns the first number that no archived file of the experiment has.
int free_number(const ResultTree& tree, int experiment) {
  const auto paths = files_of_run(tree, experiment);
  for (int number = 1;; ++number) {
    const auto taken = [&](const auto& path) {
      return exists_or_is_link(archived_path(path, number));
    };
    if (std::none_of(paths.begin(), paths.end(), taken)) return number;
  }
}

// Tries a file without a name, which leaves nothing behind even if the process is killed. Not every
// file system supports such files.
bool takes_a_nameless_file(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = ::write(fd, "x", 1) == 1 && ::fsync(fd) == 0;
  ::close(fd);
  return written;
}

void check_writable(const std::filesystem::path& directory) {
  if (takes_a_nameless_file(directory)) return;
  const std::filesystem::path probe = directory / fmt::format(".probe.{}", ::getpid());
  try {
    write_file_atomically(probe, "x");
  } catch (const Error& error) {
    ::unlink(probe.c_str());
    fail("{}: cannot write results here ({}); choose another run.output", directory.string(),
         error.what());
  } catch (...) {
    ::unlink(probe.c_str());
    throw;
  }
  std::filesystem::remove(probe);
}

}  // namespace

std::filesystem::path ResultTree::results() const {
  return output / organization / "results" / system / "bert";
}

std::filesystem::path ResultTree::system_description() const {
  return output / organization / "systems" / (system + ".json");
}

std::filesystem::path ResultTree::log(int experiment) const {
  return result(*this, experiment, ".txt");
}

std::filesystem::path ResultTree::config(int experiment) const {
  return result(*this, experiment, ".yaml");
}

std::filesystem::path ResultTree::step_trace(int experiment) const {
  return result(*this, experiment, ".steps.jsonl");
}

std::filesystem::path ResultTree::tensorboard(int experiment) const {
  return result(*this, experiment, ".tensorboard");
}

std::filesystem::path ResultTree::timeline(int experiment) const {
  return result(*this, experiment, ".timeline.json");
}

std::filesystem::path ResultTree::checkpoint(int experiment) const {
  return result(*this, experiment, ".safetensors");
}

std::filesystem::path ResultTree::checkpoints(int experiment) const {
  return result(*this, experiment, ".checkpoints");
}

void prepare_result_tree(const ResultTree& tree) {
  for (const auto& directory : {tree.results(), tree.system_description().parent_path()}) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) {
      fail("{}: cannot create this directory: {}; choose another run.output", directory.string(),
           error.message());
    }
    check_writable(directory);
  }
}

FoundResults find_results(const ResultTree& tree, int experiments, ExistingResults existing) {
  FoundResults found;
  for (int experiment = 0; experiment < experiments; ++experiment) {
    const std::filesystem::path log = tree.log(experiment);
    const bool not_begun = has_not_begun(log);
    if (existing == ExistingResults::kRefuse) {
      auto files = files_of_run(tree, experiment);
      std::ranges::reverse(files);
      for (const auto& file : files) {
        if (!(file == log ? exists_or_is_link(file) : holds_something(file))) continue;
        if (not_begun && (file == log || file == tree.config(experiment))) continue;
        fail(
            "{}: exists already; move it away, choose another run.output, or give --continue or "
            "--resume to keep existing results",
            file.string());
      }
    }
    std::error_code error;
    if (not_begun) {
      found.not_begun.push_back(experiment);
    } else if (!std::filesystem::exists(log, error)) {
      const auto files = files_of_run(tree, experiment);
      if (std::ranges::any_of(files, holds_something)) found.without_log.push_back(experiment);
    } else if (const auto result = read_experiment_result(log, experiment)) {
      found.results.push_back(*result);
    } else {
      found.interrupted.push_back(experiment);
    }
  }
  return found;
}

void remove_not_begun(const std::filesystem::path& log) noexcept {
  std::error_code ignored;  // the file may be gone already
  std::filesystem::remove(log, ignored);
  try {
    std::filesystem::remove(std::filesystem::path(log).replace_extension(".yaml"), ignored);
  } catch (const std::bad_alloc&) {  // the next start reports the file
  }
}

void refuse_links(const ResultTree& tree, int experiment) {
  for (const auto& path : files_of_run(tree, experiment)) {
    std::error_code error;
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) continue;
    fail("{}: is a link, and results are not written through links; put the file in its place",
         path.string());
  }
}

std::filesystem::path archive(const ResultTree& tree, int experiment) {
  const int number = free_number(tree, experiment);
  for (const auto& path : files_of_run(tree, experiment)) {
    if (!exists_or_is_link(path)) continue;
    std::error_code error;
    std::filesystem::rename(path, archived_path(path, number), error);
    if (error) {
      fail("{}: cannot be archived: {}; check its folder's permissions", path.string(),
           error.message());
    }
  }
  return archived_path(tree.log(experiment), number);
}

std::filesystem::path copy_to_archive(const ResultTree& tree, int experiment) {
  const int number = free_number(tree, experiment);
  for (const auto& path : {tree.step_trace(experiment), tree.log(experiment)}) {
    if (std::filesystem::exists(path)) {
      write_file_atomically(archived_path(path, number), read_file(path));
    }
  }
  return archived_path(tree.log(experiment), number);
}

}  // namespace strata::harness
