// Whole-file reading and crash-safe whole-file writing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

// The bytes of `path`. Throws Error where it cannot be opened or read.
std::string read_file(const std::filesystem::path& path);

// What is in `directory`, in order of name. Throws Error where it cannot be listed.
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);

// Writes `bytes` to a temporary file beside `path`, flushes it to disk and renames it into place,
// so that `path` is either the old file or the whole new one. Throws Error (disk full, no
// permission) and leaves no temporary file behind. Creates missing parent directories.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace strata
