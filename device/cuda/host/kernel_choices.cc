#include "device/cuda/host/kernel_choices.h"

#include <array>
#include <string>
#include <string_view>

namespace strata::device::cuda {
namespace {

template <typename Enum, size_t kCount>
Enum choice(const std::map<std::string, std::string>& options, const char* option,
            const std::array<std::string_view, kCount>& names) {
  const auto given = options.find(option);
  if (given == options.end()) return Enum{};
  size_t index = 0;
  while (index < kCount && names[index] != given->second) ++index;
  return static_cast<Enum>(index % kCount);
}

}  // namespace

KernelChoices kernel_choices(const std::map<std::string, std::string>& options) {
  constexpr std::array<std::string_view, 5> kAttention = {"fastest", "plain", "mma", "wgmma",
                                                          "cudnn"};
  constexpr std::array<std::string_view, 3> kEpilogues = {"fastest", "always", "never"};
  const auto left = options.find("communication_multiprocessors");
  return {.attention = choice<AttentionKernel>(options, "attention", kAttention),
          .epilogues = choice<FusedEpilogues>(options, "epilogues", kEpilogues),
          .communication_multiprocessors = left == options.end() ? 0 : std::stoi(left->second)};
}

}  // namespace strata::device::cuda
