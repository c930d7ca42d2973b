#include "search/trial_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/write_all.h"

namespace strata::search {

TrialLog::TrialLog(std::filesystem::path path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  const std::string text = read_file(path_);
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      // The line was cut by a crash, so the run is repeated, or the search is writing it now.
      cut_at_ = text.size() - rest.size();
      return;
    }
    const std::string whole(rest.substr(0, end));
    FinishedRun run = from_json_line(whole, fmt::format("{}:{}", path_.string(), line));
    runs_.insert_or_assign(run.run, std::move(run));
    rest.remove_prefix(end + 1);
  }
}

const FinishedRun* TrialLog::find(const TrialRun& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

void TrialLog::add(const FinishedRun& run) {
  if (cut_at_) std::filesystem::resize_file(path_, *cut_at_);
  cut_at_.reset();
  const std::string line = to_json_line(run) + "\n";
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const off_t whole = file >= 0 ? ::lseek(file, 0, SEEK_END) : -1;
  const bool written = file >= 0 && write_all(file, line) && ::fsync(file) == 0;
  const int error = errno;
  // Removes an incomplete line.
  const bool is_whole = written || whole < 0 || ::ftruncate(file, whole) == 0;
  if (file >= 0) ::close(file);
  if (!is_whole) cut_at_ = static_cast<uintmax_t>(whole);
  if (!written) fail("{}: cannot be written: {}", path_.string(), std::strerror(error));
  runs_.insert_or_assign(run.run, run);
}

}  // namespace strata::search
