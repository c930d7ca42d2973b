#include "device/cuda/host/nearest_processors.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/files/lines.h"

namespace strata::device::cuda {
namespace {

// Removes and returns the number at the beginning of `text`, or -1 if there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number >= CPU_SETSIZE) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

std::vector<int> parse_processor_list(std::string_view list) {
  std::vector<int> processors;
  while (!list.empty() && std::isspace(static_cast<unsigned char>(list.back()))) {
    list.remove_suffix(1);
  }
  while (!list.empty()) {
    const int first = take_number(list);
    int last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    if (first < 0 || last < first) return {};
    for (int processor = first; processor <= last; ++processor) processors.push_back(processor);
    if (list.empty()) break;
    if (!list.starts_with(',') || list.size() == 1) return {};
    list.remove_prefix(1);
  }
  return processors;
}

void bind_to_nearest_processors(std::string address, const std::filesystem::path& root) {
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::filesystem::path file = root / "sys/bus/pci/devices" / address / "local_cpulist";
  const std::string list = first_line(file.string());
  cpu_set_t allowed, nearest;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_ZERO(&nearest);
  for (const int processor : parse_processor_list(list)) {
    if (CPU_ISSET(processor, &allowed)) CPU_SET(processor, &nearest);
  }
  if (CPU_COUNT(&nearest) > 0) sched_setaffinity(0, sizeof nearest, &nearest);
}

}  // namespace strata::device::cuda
