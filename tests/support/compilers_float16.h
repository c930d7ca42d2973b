// The compiler's f16 type, with which conversions of Strata are compared.
#pragma once

namespace strata {

#ifdef __aarch64__
using CompilersFloat16 = __fp16;  // GCC 12 has no _Float16 there
#else
using CompilersFloat16 = _Float16;
#endif

}  // namespace strata
