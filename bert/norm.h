// Where a layer normalizes.
#pragma once

#include <cstdint>

namespace strata::bert {

enum class Norm : uint8_t {
  kPost,  // after every sublayer's residual sum, as BERT does
  kPre,   // before every sublayer, and once before the heads; sums are not (Xiong et al. 2020)
};

}  // namespace strata::bert
