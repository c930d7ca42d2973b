#include "compliance/trees/merge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/files/write_all.h"
#include "base/text/counts.h"
#include "compliance/package/submission_tree.h"
#include "compliance/trees/same_bytes.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// A folder that is removed with all its contents, unless it is kept.
class TemporaryTree {
 public:
  explicit TemporaryTree(const fs::path& target) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      path_ = target.parent_path() /
              fmt::format(".{}.merging.{}.{}", target.filename().string(), ::getpid(), i);
      if (::mkdir(path_.c_str(), 0755) == 0) return;
      if (errno != EEXIST) break;
    }
    fail("{}: cannot create: {}", path_.string(), std::strerror(errno));
  }
  ~TemporaryTree() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;

  const fs::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  bool kept_ = false;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Returns false, with errno, if written data may be lost.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// The tree's future entries, by path below it.
struct Entry {
  fs::path source;
  fs::file_type type = fs::file_type::none;
  size_t submitter = 0;
};

bool is_submission(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "results", error) && fs::is_directory(folder / "systems", error);
}

// Returns the submitters that the sources are or hold, each once, by their real paths.
std::vector<fs::path> submitters_of(const std::vector<fs::path>& sources) {
  std::vector<fs::path> found;
  for (const fs::path& source : sources) {
    std::error_code error;
    const fs::path real = fs::canonical(source, error);
    if (error || !fs::is_directory(real, error))
      fail("{}: is {}, a folder was expected", source.string(), what_is_at(source));
    const auto all = is_submission(real) ? std::vector<fs::path>{real} : find_submitters(real);
    if (all.empty()) {
      fail("{}: is not a submission (a folder with results/ and systems/) and holds none",
           source.string());
    }
    for (const fs::path& one : all) {
      const fs::path submitter = fs::canonical(one, error);
      if (error) fail("{}: cannot be read: {}", one.string(), error.message());
      if (std::ranges::find(found, submitter) == found.end()) found.push_back(submitter);
    }
  }
  return found;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [at, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return at == folder.end();
}

// Returns why a link must not be copied, or an empty text if it may.
std::string leaves(const fs::path& link, const fs::path& submitter) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) return fmt::format("cannot be read: {}", error.message());
  const std::string to = one_line(target.string());
  if (target.is_absolute())
    return fmt::format("is a link to {}, an absolute path; other machines may lack it", to);
  const fs::path meant = (link.parent_path() / target).lexically_normal();
  const fs::path real = fs::weakly_canonical(link, error);
  if (!is_within(meant, submitter) || (!error && !is_within(real, submitter)))
    return fmt::format("is a link that leads out of its submission (to {})", to);
  return "";
}

// Collects the entries to copy, and all objections.
class Plan {
 public:
  explicit Plan(MergeReport& report) : report_(report) {}

  void add(const fs::path& submitter) {
    const std::string name = submitter.filename().string();
    const auto known = std::ranges::find(report_.submitters, name,
                                         [](const MergedSubmitter& one) { return one.name; });
    const auto index = static_cast<size_t>(known - report_.submitters.begin());
    if (known == report_.submitters.end()) report_.submitters.push_back({name, {}, 0, 0});
    report_.submitters[index].sources.push_back(submitter);
    ListingProblems unlisted;
    walk(
        submitter, [&](const fs::directory_entry& entry) { take(entry, submitter, name, index); },
        unlisted);
    problems_.insert(problems_.end(), unlisted.begin(), unlisted.end());
  }

  const std::map<fs::path, Entry>& entries() const { return entries_; }
  // Returns the size of all files.
  uintmax_t bytes() const {
    uintmax_t sum = 0;
    for (const auto& [path, entry] : entries_) {
      std::error_code error;
      if (entry.type != fs::file_type::regular) continue;
      const uintmax_t size = fs::file_size(entry.source, error);
      if (!error && __builtin_add_overflow(sum, size, &sum)) return UINTMAX_MAX;
    }
    return sum;
  }

  // Throws Error if there are problems.
  void refuse_problems() const {
    constexpr size_t kShown = 50;
    if (problems_.empty()) return;
    const auto shown = problems_.size() > kShown
                           ? std::vector(problems_.begin(), problems_.begin() + kShown)
                           : problems_;
    std::string text = fmt::format("{}", fmt::join(shown, "\nstrata: "));
    if (problems_.size() > kShown)
      text += fmt::format("\nstrata: and {} more", problems_.size() - kShown);
    fail("{}", text);
  }

 private:
  void take(const fs::directory_entry& listed, const fs::path& submitter, const std::string& name,
            size_t index) {
    const fs::path inside = listed.path().lexically_relative(submitter);
    for (auto part = inside.begin(); part != inside.end(); ++part) {
      if (*part != ".git") continue;
      if (std::next(part) == inside.end())
        report_.left_out.push_back(one_line(listed.path().string()));
      return;
    }
    std::error_code error;
    const Entry entry{listed.path(), listed.symlink_status(error).type(), index};
    const std::string shown = one_line(listed.path().string());
    if (entry.type == fs::file_type::symlink) {
      if (const std::string reason = leaves(entry.source, submitter); !reason.empty())
        problems_.push_back(fmt::format("{}: {}", shown, reason));
    } else if (entry.type != fs::file_type::regular && entry.type != fs::file_type::directory) {
      problems_.push_back(fmt::format("{}: is {}, which cannot be part of a submission", shown,
                                      error ? error.message() : what_is_at(entry.source)));
      return;
    }
    const auto [known, is_new] = entries_.emplace(fs::path(name) / inside, entry);
    if (!is_new) compare(known->second, entry, known->first);
  }

  void compare(const Entry& first, const Entry& second, const fs::path& path) {
    const auto conflict = [&](std::string_view what) {
      problems_.push_back(fmt::format("{}: {} in {} and in {}", one_line(path.string()), what,
                                      one_line(first.source.string()),
                                      one_line(second.source.string())));
    };
    if (first.type != second.type) return conflict("has different file types");
    if (first.type == fs::file_type::directory) return;
    std::error_code error;
    try {
      const bool same =
          first.type == fs::file_type::symlink
              ? fs::read_symlink(first.source, error) == fs::read_symlink(second.source, error)
              : same_bytes(first.source, second.source);
      if (!same) return conflict("has different contents");
      report_.same.push_back(path.string());
    } catch (const Error& failed) {
      problems_.push_back(failed.what());
    }
  }

  MergeReport& report_;
  std::map<fs::path, Entry> entries_;
  std::vector<std::string> problems_;
};

// Copies one regular file and keeps it executable. Returns its bytes.
uint64_t copy_regular(const fs::path& from, const fs::path& to) {
  const auto give_up = [](const fs::path& path, const char* what) {
    fail("{}: cannot {}: {}", one_line(path.string()), what, std::strerror(errno));
  };
  const Descriptor in(
      ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  struct stat status;
  if (in.get() < 0 || ::fstat(in.get(), &status) != 0) give_up(from, "read");
  if (!S_ISREG(status.st_mode)) fail("{}: is no longer a regular file", one_line(from.string()));
  const mode_t mode = (status.st_mode & 0111) != 0 ? 0755 : 0644;
  Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (out.get() < 0) give_up(to, "create");
  constexpr size_t kPiece = 1 << 18;
  static thread_local const auto bytes = std::make_unique<char[]>(kPiece);
  uint64_t copied = 0;
  for (;;) {
    const ssize_t count = ::read(in.get(), bytes.get(), kPiece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up(from, "read");
    if (count == 0) {
      if (!out.close()) give_up(to, "write");
      return copied;
    }
    if (!write_all(out.get(), {bytes.get(), static_cast<size_t>(count)})) give_up(to, "write");
    copied += static_cast<uint64_t>(count);
  }
}

void copy_entry(const fs::path& path, const Entry& entry, const fs::path& tree,
                MergeReport& report) {
  const fs::path to = tree / path;
  if (entry.type == fs::file_type::directory) {
    if (::mkdir(to.c_str(), 0755) != 0)
      fail("{}: cannot create: {}", one_line(to.string()), std::strerror(errno));
    return;
  }
  MergedSubmitter& submitter = report.submitters[entry.submitter];
  ++submitter.files;
  if (entry.type == fs::file_type::regular) {
    submitter.bytes += copy_regular(entry.source, to);
    return;
  }
  std::error_code error;
  fs::copy_symlink(entry.source, to, error);
  if (error) fail("{}: cannot create the link: {}", one_line(to.string()), error.message());
}

// Flushes the whole tree, renames it and flushes the rename.
void put_in_place(TemporaryTree& tree, const fs::path& output) {
  const Descriptor folder(::open(tree.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::syncfs(folder.get()) != 0)
    fail("{}: cannot be flushed to disk: {}", tree.path().string(), std::strerror(errno));
    // rename() replaces an empty folder and nothing else; with RENAME_NOREPLACE not even that.
#ifdef RENAME_NOREPLACE
  bool renamed =
      ::renameat2(AT_FDCWD, tree.path().c_str(), AT_FDCWD, output.c_str(), RENAME_NOREPLACE) == 0;
  if (!renamed && (errno == EINVAL || errno == ENOSYS))
    renamed = ::rename(tree.path().c_str(), output.c_str()) == 0;
#else
  const bool renamed = ::rename(tree.path().c_str(), output.c_str()) == 0;
#endif
  if (!renamed)
    fail("{}: cannot rename the merged folder to this path: {}", output.string(),
         std::strerror(errno));
  tree.keep();
  const Descriptor parent(::open(output.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) ::fsync(parent.get());
}

}  // namespace

MergeReport merge_submitters(const std::vector<fs::path>& sources, const fs::path& output) {
  MergeReport report;
  std::error_code error;
  report.output = fs::weakly_canonical(fs::absolute(output, error), error);
  if (!report.output.has_filename()) report.output = report.output.parent_path();
  if (fs::symlink_status(output, error).type() != fs::file_type::not_found) {
    fail("{}: exists already ({}); name a new folder", output.string(), what_is_at(output));
  }
  const auto submitters = submitters_of(sources);
  for (const fs::path& submitter : submitters) {
    if (is_within(report.output, submitter))
      fail("{}: is inside {}, which is to be merged; name a folder outside it", output.string(),
           submitter.string());
  }
  Plan plan(report);
  for (const fs::path& submitter : submitters) plan.add(submitter);
  plan.refuse_problems();
  if (!fs::is_directory(report.output.parent_path(), error))
    fail("{}: is {}, a folder was expected", report.output.parent_path().string(),
         what_is_at(report.output.parent_path()));
  const uintmax_t free = fs::space(report.output.parent_path(), error).available;
  if (!error && plan.bytes() > free) {
    fail("{}: the tree needs {}, but only {} are free", report.output.string(),
         counted(plan.bytes(), "byte"), count_text(free));
  }
  TemporaryTree tree(report.output);
  for (const MergedSubmitter& submitter : report.submitters) {
    if (::mkdir((tree.path() / submitter.name).c_str(), 0755) != 0)
      fail("{}: cannot create: {}", (tree.path() / submitter.name).string(), std::strerror(errno));
  }
  // Folders come before their contents.
  for (const auto& [path, entry] : plan.entries()) copy_entry(path, entry, tree.path(), report);
  put_in_place(tree, report.output);
  return report;
}

}  // namespace strata::compliance
