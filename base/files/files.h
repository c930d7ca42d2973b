// Reads, lists and writes whole files. A crash leaves either the old file or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace strata {

inline constexpr uint64_t kAnySize = UINT64_MAX;

// A file built into the program by cmake/EmbedFiles.cmake.
struct EmbeddedFile {
  std::string_view name;  // relative path
  std::string_view text;
  std::string_view sha256;  // SHA-256 of the text, 64 hexadecimal digits
};

// Reads `path`, a regular file or a link to one. Throws Error naming what else is there (a folder,
// FIFO, device, dangling link), or for a file of more than `most_bytes`. Throws ReadError if the
// file exists but cannot be opened, read or held in memory.
std::string read_file(const std::filesystem::path& path, uint64_t most_bytes = kAnySize);

// True if nothing is at `path`: no file, and no link, not even a broken one. A path that cannot be
// reached for another reason (no permission) is not missing.
bool is_missing(const std::filesystem::path& path);

// Describes what is at `path`, in words that follow "is": "missing", "a regular file", "a
// folder", "a FIFO", "a device", "a socket", "a broken link (to x)", ... Follows links. The
// words are for messages: a program decides by is_missing() and the standard library.
std::string what_is_at(const std::filesystem::path& path);

// Lists `directory`, ordered by name. The first form throws Error on failure; the second sets
// `error` and returns the names found before it. Both throw std::bad_alloc if memory is short.
// (std::filesystem's iterator ends the process in that case.)
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory,
                                                  std::error_code& error);

// Writes `bytes` to a new temporary file next to `path`, flushes it to disk, renames it and flushes
// the folder, so that `path` is either the old file or the whole new one. If `path` is a link,
// replaces the link's target. Creates missing parent directories. Throws Error (disk full, no
// permission, `path` is not a regular file) and leaves no temporary file behind.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// The same for a new file. Returns false and writes nothing if `path` exists.
bool write_new_file(const std::filesystem::path& path, std::string_view bytes);

// Removes temporary files, NAME.tmp.PID.N, of killed processes in `folder` and below. A process
// that is still writing holds a lock on its file.
void remove_leftovers(const std::filesystem::path& folder);

// True if this name exists, even as a dangling link.
bool exists_or_is_link(const std::filesystem::path& path);

// Flushes a file to disk, whoever wrote it. Throws Error on failure.
void flush_file(const std::filesystem::path& path);

// Writes a file in pieces, for files too large to hold in memory twice. It writes to a temporary
// file next to the target, so that the target is either the old file or the whole new one. Errors
// are as in write_file_atomically. Removes temporary files that killed writers of the same file
// have left.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // removes an uncommitted file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  // Flushes the file to disk, renames it to its name and flushes the folder.
  void commit();
  // The same for a new file. Returns false and removes the file if the name exists.
  bool commit_new();

 private:
  [[noreturn]] void give_up(const char* what);
  void flush_name();
  void discard() noexcept;

  std::filesystem::path path_, target_;  // the user's path; the end of its links
  std::string temporary_;                // empty after commit
  int fd_ = -1;
};

// Writes a command's output. Writes directly to a device, a FIFO or an open standard stream
// (/dev/stdout), and to other paths as write_file_atomically does.
void write_output(const std::filesystem::path& path, std::string_view bytes);

// Searches PATH for the program `name`, as a shell does, but only in absolute folders: an empty
// entry or '.' would run a file of the current folder. Returns a name with a slash unchanged, and
// an empty string if there is no such program.
std::string find_program(const std::string& name);

}  // namespace strata
