// CRC-32C (Castagnoli), which TensorFlow's file formats guard their bytes with.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata {

// RFC 3720, B.4. Of `bytes` after those whose CRC is `before`; that of none is 0.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);
// The same, on any processor.
uint32_t portable_crc32c(std::string_view bytes, uint32_t before = 0);

// As TensorFlow stores it (tensorflow/core/lib/hash/crc32c.h), so that a checksum over bytes that
// hold checksums is not one of them.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace strata
