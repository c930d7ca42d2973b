#include "data/prepare/md5.h"

#include <md5.h>

#include <array>

namespace strata::data {

std::string md5(std::string_view bytes) {
  std::array<char, MD5_DIGEST_STRING_LENGTH> text;
  ::MD5Data(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), text.data());
  return text.data();
}

}  // namespace strata::data
