#include "base/files/crc32c.h"

#include <bit>
#include <boost/crc.hpp>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace strata {
namespace {

#if defined(__x86_64__)
// Ten times as fast: processors have had this instruction since 2008.
__attribute__((target("sse4.2"))) uint32_t by_instruction(std::string_view bytes, uint32_t before) {
  uint64_t crc = ~before;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(byte));
  return ~rest;
}
#endif

// The library's remainders have the opposite bit order.
uint32_t reversed(uint32_t bits) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) result |= (bits >> i & 1u) << (31 - i);
  return result;
}

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(bytes, before);
#endif
  return portable_crc32c(bytes, before);
}

uint32_t portable_crc32c(std::string_view bytes, uint32_t before) {
  boost::crc_optimal<32, 0x1edc6f41, 0, 0xffffffff, true, true> crc(reversed(~before));
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8; }

}  // namespace strata
