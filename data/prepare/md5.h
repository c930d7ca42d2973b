// MD5 (RFC 1321), by which published data sets are named; no protection against forgery.
#pragma once

#include <string>
#include <string_view>

namespace strata::data {

// 32 hexadecimal digits.
std::string md5(std::string_view bytes);

}  // namespace strata::data
