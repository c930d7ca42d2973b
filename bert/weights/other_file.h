// Recognises files that are not weights.
#pragma once

#include <filesystem>

namespace strata::bert {

// Throws Error if `path` is a folder, an empty file, or starts like a format other than
// safetensors: a Git LFS pointer, a web page, a pickle, an archive, JSON, a TensorFlow list of
// checkpoints. The message says what `path` is and what to give instead. Does nothing if `path`
// cannot be read.
void refuse_other_file(const std::filesystem::path& path);

}  // namespace strata::bert
