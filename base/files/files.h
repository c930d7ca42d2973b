// Whole files: read, listed, and written so that a crash leaves the old one or the new one.
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
  std::string_view sha256;  // of the text, 64 hexadecimal digits
};

// The bytes of `path`, a regular file or a link to one. Throws Error, naming what is there instead,
// for anything else (a folder, FIFO, device, dangling link) and for a file of more than
// `most_bytes`; ReadError where it is there and cannot be opened, read or held in memory.
std::string read_file(const std::filesystem::path& path, uint64_t most_bytes = kAnySize);

// What is at `path`, in words that follow "is": "not there", "a regular file", "a folder", "a
// FIFO", "a device", "a socket", "a link that leads nowhere (to x)", ...; links are followed.
std::string what_is_at(const std::filesystem::path& path);

// What is in `directory`, in order of name. Throws Error where it cannot be listed; the second form
// sets `error` instead and returns what it found until then; either std::bad_alloc where there is
// no memory for it. (std::filesystem's iterator ends the
// process where it gets no memory for a name.)
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory,
                                                  std::error_code& error);

// Writes `bytes` to a new temporary file beside `path`, flushes it to disk, renames it into place
// and flushes the folder, so that `path` is either the old file or the whole new one. Where `path`
// is a link, what it leads to is replaced. Throws Error (disk full, no permission, `path` is
// something else than a regular file) and leaves no temporary file behind. Creates missing parent
// directories.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// The same of a file that is not there yet; false, and nothing written, where something is.
bool write_new_file(const std::filesystem::path& path, std::string_view bytes);

// Removes the temporary files, NAME.tmp.PID.N, in `folder` and below that their writers have left:
// processes that were killed. A process that still writes holds a lock on its file.
void remove_leftovers(const std::filesystem::path& folder);

// Whether something has this name, a link that leads nowhere included.
bool exists_or_is_link(const std::filesystem::path& path);

// Flushes to disk what has been written to the file, by whomever. Throws Error where it cannot be.
void flush_file(const std::filesystem::path& path);

// A file too large to hold in memory twice, written piece by piece to a new temporary one beside
// it: under its own name it is either the old one or the whole new one. Errors are as of
// write_file_atomically.
// Removes the temporary files that killed writers of the same file have left.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // what is not committed is removed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  // Flushes it to disk, gives it its name and flushes the folder.
  void commit();
  // The same where nothing has that name; else false, and the file is removed.
  bool commit_new();

 private:
  [[noreturn]] void give_up(const char* what);
  void flush_name();
  void discard() noexcept;

  std::filesystem::path path_, target_;  // as the user calls it; at the end of its links
  std::string temporary_;                // empty: committed
  int fd_ = -1;
};

// What a user named as a command's output: a device, a FIFO or an open standard stream
// (/dev/stdout) is written to; anything else as write_file_atomically does.
void write_output(const std::filesystem::path& path, std::string_view bytes);

// The path of the program `name`, looked for as a shell does, but only in those folders of PATH
// that are named absolutely: an empty entry or '.' would let a file of the current folder run. A
// name with a slash is returned as it is. Empty: there is none.
std::string find_program(const std::string& name);

}  // namespace strata
