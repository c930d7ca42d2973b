// Files that are found where weights were expected.
#pragma once

#include <filesystem>

namespace strata::bert {

// Throws Error if `path` is a folder, an empty file, or begins as something else than safetensors:
// a Git LFS pointer, a web page, a pickle, an archive, JSON, a TensorFlow list of checkpoints. The
// message names `path`, what it is and what to give instead. No effect on a path that cannot be
// read.
void refuse_other_file(const std::filesystem::path& path);

}  // namespace strata::bert
