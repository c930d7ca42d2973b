// A fingerprint of bytes, to recognise equal input; no protection against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::data {

// Returns the 64-bit FNV-1a hash of `bytes`, continuing from `hash`.
inline uint64_t fingerprint(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// Continues `hash` with one of several texts, such that moving bytes between texts changes the
// result.
inline uint64_t hash_text(std::string_view text, uint64_t hash) {
  return fingerprint(text, fingerprint(std::to_string(text.size()), hash));
}

}  // namespace strata::data
