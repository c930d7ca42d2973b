// CRC-32C (Castagnoli), the checksum in TensorFlow's file formats.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata {

// Returns the CRC of `bytes` (RFC 3720, B.4), continuing from the CRC `before`, which is 0 for no
// bytes.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);
// Computes the same on any processor.
uint32_t portable_crc32c(std::string_view bytes, uint32_t before = 0);

// Returns the CRC as TensorFlow stores it (tensorflow/core/lib/hash/crc32c.h), masked because
// the CRC of data that contains CRCs is not reliable.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace strata
