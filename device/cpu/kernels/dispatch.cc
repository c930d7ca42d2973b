#include <cpuid.h>

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "device/cpu/kernels/tables.h"

namespace strata::device::cpu {
namespace {

#if defined(__clang__) && __clang_major__ < 18
// These versions of Clang know neither the levels of x86-64 nor AMX. Every processor with these
// instructions has the others of its level.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
bool has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bit_AMXBF16) != 0;
}
#else
bool has_avx2() { return __builtin_cpu_supports("x86-64-v3"); }
bool has_avx512() { return __builtin_cpu_supports("x86-64-v4"); }
bool has_amx_bf16() { return __builtin_cpu_supports("amx-bf16"); }
#endif

// Returns the requested instruction set; empty: the best.
std::string_view asked() {
  const char* name = std::getenv("STRATA_CPU_ISA");
  return name == nullptr ? "" : name;
}

const VectorKernels& choose() {
  const std::string_view name = asked();
  if (name.empty()) {
    return has_avx512() ? avx512_kernels() : has_avx2() ? avx2_kernels() : portable_kernels();
  }
  if (name == "portable") return portable_kernels();
  if (name == "avx2" && has_avx2()) return avx2_kernels();
  if (name == "avx512" && has_avx512()) return avx512_kernels();
  const bool is_known = name == "avx2" || name == "avx512";
  fail("STRATA_CPU_ISA={}: {}; use portable{}{}, or unset the variable", name,
       is_known ? "this processor cannot run it" : "is not a known instruction set",
       has_avx2() ? ", avx2" : "", has_avx512() ? ", avx512" : "");
}

}  // namespace

const VectorKernels& kernels_for_this_cpu() {
  static const VectorKernels& kernels = choose();
  return kernels;
}

bool multiplies_bf16_pairs() {
  static const bool does =
      has_avx512() && __builtin_cpu_supports("avx512bf16") && !has_amx_bf16() && asked().empty();
  return does;
}

}  // namespace strata::device::cpu
