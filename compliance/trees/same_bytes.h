// Files compared piece by piece.
#pragma once

#include <filesystem>

namespace strata::compliance {

// Whether two regular files hold the same bytes, in constant memory. Throws ReadError where one
// cannot be read, Error where one is no regular file, or where both have the same size, above
// 16 GiB, which no part of a submission has and which may be all holes.
bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace strata::compliance
