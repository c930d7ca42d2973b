#include "base/threads/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>

#include "base/files/lines.h"
#include "base/text/from_chars.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr int kMostProcessors = 1 << 14;

// Uses no heap memory, because without it another rank's processors would be assigned to this rank.
using ProcessorSet = std::array<cpu_set_t, kMostProcessors / CPU_SETSIZE>;

std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Parses "50000 100000" or "max 100000".
std::optional<double> quota_of_version_2(const std::string& group) {
  const std::string line = first_line(group + "/cpu.max");
  const auto quota = leading_number(line);
  const size_t space = line.find(' ');
  if (!quota || space == std::string::npos) return std::nullopt;
  const auto period = leading_number(std::string_view(line).substr(space + 1));
  return period && *period > 0 ? std::optional(*quota / *period) : std::nullopt;
}

std::optional<double> quota_of_version_1(const std::string& group) {
  const auto quota = leading_number(first_line(group + "/cpu.cfs_quota_us"));
  const auto period = leading_number(first_line(group + "/cpu.cfs_period_us"));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// Takes the smallest quota of the group `path` below `mount` and its parents; in a container some
// may be missing. Uses strings because std::filesystem::path of libstdc++ 12 ends the process if it
// has no memory for its parts.
template <typename Quota>
void take_smallest(const std::string& mount, std::string_view path, Quota quota_of,
                   std::optional<double>& smallest) {
  while (path.ends_with('/')) path.remove_suffix(1);
  for (;;) {
    const std::optional<double> quota = quota_of(fmt::format("{}/{}", mount, path));
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
    if (path.empty()) return;
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

// Parses lists such as "0-3,8,10-11".
std::vector<int> numbers_of_list(std::string_view list) {
  std::vector<int> numbers;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0, last = 0;
    auto parsed = from_chars(at, end, first);
    if (parsed.ec != std::errc()) break;
    last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') {
      parsed = from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc()) break;
    }
    for (int number = first; number <= std::min(last, kMostProcessors); ++number)
      numbers.push_back(number);
    at = parsed.ptr + 1;
  }
  return numbers;
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

int at_most(int threads, std::optional<double> quota) {
  if (quota) threads = std::min(threads, static_cast<int>(std::min(*quota, 1e6)));
  return std::max(threads, 1);
}

// Returns a rank's even share of the processors that it may use.
int even_share(size_t rank, const std::vector<std::vector<int>>& affinities) {
  double share = 0;
  for (const int processor : affinities[rank]) {
    const auto users = std::count_if(affinities.begin(), affinities.end(), [&](const auto& set) {
      return std::binary_search(set.begin(), set.end(), processor);
    });
    share += 1.0 / static_cast<double>(users);
  }
  constexpr double kRounding = 1e-9;
  return static_cast<int>(share + kRounding);
}

}  // namespace

std::vector<int> affinity() {
  ProcessorSet set;
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, set.data()) == 0) {
    for (int processor = 0; processor < kMostProcessors; ++processor) {
      if (CPU_ISSET_S(processor, sizeof set, set.data())) processors.push_back(processor);
    }
  } else {
    processors.resize(std::max(1u, std::thread::hardware_concurrency()));
    std::iota(processors.begin(), processors.end(), 0);
  }
  return processors;
}

bool set_affinity(const std::vector<int>& processors) noexcept {
  ProcessorSet set;
  CPU_ZERO_S(sizeof set, set.data());
  for (const int processor : processors) CPU_SET_S(processor, sizeof set, set.data());
  return ::sched_setaffinity(0, sizeof set, set.data()) == 0;
}

std::optional<double> processor_quota(const fs::path& root) {
  std::optional<double> smallest;
  std::ifstream groups = open_to_read(root.string() + "/proc/self/cgroup");
  // The format is "hierarchy:controllers:path"; version 2 is "0::path".
  for (std::string line; read_line(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1), mounts = root.string() + "/sys/fs/cgroup";
    if (controllers.empty()) {
      take_smallest(mounts, path, quota_of_version_2, smallest);
      take_smallest(mounts + "/unified", path, quota_of_version_2, smallest);
    } else if (fmt::format(",{},", controllers).find(",cpu,") != std::string::npos) {
      take_smallest(mounts + "/" + controllers, path, quota_of_version_1, smallest);
      take_smallest(mounts + "/cpu", path, quota_of_version_1, smallest);
    }
  }
  return smallest;
}

std::vector<std::vector<int>> numa_nodes(const fs::path& root) {
  const std::string folder = root.string() + "/sys/devices/system/node";
  std::vector<std::vector<int>> nodes;
  for (const int node : numbers_of_list(first_line(folder + "/online"))) {
    nodes.push_back(numbers_of_list(first_line(fmt::format("{}/node{}/cpulist", folder, node))));
  }
  return nodes;
}

int usable_processors() { return at_most(static_cast<int>(affinity().size()), processor_quota()); }

RankProcessors processors_of_rank(size_t rank, const std::vector<std::vector<int>>& affinities,
                                  const std::vector<std::vector<int>>& nodes,
                                  std::optional<double> quota) {
  const size_t ranks = affinities.size();
  const std::vector<int>& mine = affinities.at(rank);
  if (quota) *quota /= static_cast<double>(ranks);

  std::vector<std::vector<int>> usable;  // processors of each node that the ranks may use
  for (const std::vector<int>& node : nodes) {
    if (auto processors = common(node, mine); !processors.empty()) usable.push_back(processors);
  }
  const bool unbound = std::all_of(affinities.begin(), affinities.end(),
                                   [&](const auto& theirs) { return theirs == mine; });
  if (!unbound || usable.size() < 2 || ranks < 2) {
    return {at_most(even_share(rank, affinities), quota), {}};
  }

  RankProcessors result;
  const auto first_node = [&](size_t of) { return of * usable.size() / ranks; };
  const size_t first = first_node(rank), end = std::max(first + 1, first_node(rank + 1));
  for (size_t node = first; node < end; ++node) {
    result.bound.insert(result.bound.end(), usable[node].begin(), usable[node].end());
  }
  std::sort(result.bound.begin(), result.bound.end());
  int sharers = 0;
  for (size_t other = 0; other < ranks; ++other) sharers += first_node(other) == first;
  result.threads = at_most(static_cast<int>(result.bound.size()) / sharers, quota);
  return result;
}

}  // namespace strata
