#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "device/cpu/kernels/tables.h"

#if defined(__x86_64__) && defined(__clang__) && __clang_major__ < 18
#include <cpuid.h>
#endif

namespace strata::device::cpu {
namespace {

#if !defined(__x86_64__)
bool has_bf16_pairs() { return false; }
#else
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
bool has_bf16_pairs() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && !has_amx_bf16();
}
#endif

struct InstructionSet {
  std::string_view name;
  const VectorKernels& (*kernels)();
  bool (*is_supported)();
};
// All of this architecture, the best last.
constexpr InstructionSet kInstructionSets[] = {
    {"portable", portable_kernels, [] { return true; }},
#if defined(__x86_64__)
    {"avx2", avx2_kernels, has_avx2},
    {"avx512", avx512_kernels, has_avx512},
#endif
};

// Returns the requested instruction set; empty: the best.
std::string_view asked() {
  const char* name = std::getenv("STRATA_CPU_ISA");
  return name == nullptr ? "" : name;
}

const VectorKernels& choose() {
  const std::string_view name = asked();
  const InstructionSet* best = nullptr;
  std::string usable;
  bool is_known = false;
  for (const InstructionSet& set : kInstructionSets) {
    is_known |= name == set.name;
    if (!set.is_supported()) continue;
    if (name.empty() || name == set.name) best = &set;
    usable += fmt::format("{}{}", usable.empty() ? "" : ", ", set.name);
  }
  if (best != nullptr) return best->kernels();
  fail("STRATA_CPU_ISA={}: {}; use {}, or unset the variable", name,
       is_known ? "this processor cannot run it" : "is not a known instruction set", usable);
}

}  // namespace

const VectorKernels& kernels_for_this_cpu() {
  static const VectorKernels& kernels = choose();
  return kernels;
}

bool multiplies_bf16_pairs() {
  static const bool does = has_bf16_pairs() && asked().empty();
  return does;
}

}  // namespace strata::device::cpu
