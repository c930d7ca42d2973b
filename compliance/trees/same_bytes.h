// Compares files piece by piece.
#pragma once

#include <filesystem>

namespace strata::compliance {

// Returns whether two regular files hold the same bytes, in constant memory. Throws ReadError if
// one cannot be read, and Error if one is no regular file, or if both have the same size above 16
// GiB: no part of a submission is so large, and such a file may be sparse.
bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace strata::compliance
