#include "harness/host/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/trim.h"

namespace strata::harness {
namespace {

namespace fs = std::filesystem;

std::string unquoted(std::string_view text) { return std::string(trimmed(text, " \t\"")); }

std::string first_line(const fs::path& path) { return unquoted(strata::first_line(path.string())); }

double number_in(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the entries of a directory by name, or none if it cannot be read.
std::vector<fs::path> entries(const fs::path& directory) {
  std::error_code ignored;
  return list_directory(directory, ignored);
}

// "24 GiB"; one decimal below 10.
std::string binary_size(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 && bytes != static_cast<int>(bytes) ? 1 : 0,
                     units[unit]);
}

// Counts equal texts: "2x 256 GiB, 1x 1 TiB".
std::string with_counts(const std::vector<std::string>& texts) {
  std::map<std::string, int> counts;
  for (const std::string& text : texts) ++counts[text];
  std::string result;
  for (const auto& [text, times] : counts) {
    result += fmt::format("{}{}x {}", result.empty() ? "" : ", ", times, text);
  }
  return result;
}

constexpr std::string_view kInstructionSets[] = {
    "avx2",    "avx512f",  "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16", "amx_fp16",
    "asimdhp", "asimdfhm", "sve",         "sve2",        "bf16",     "i8mm"};

// Processors of servers for aarch64, whose names Linux does not report.
struct Part {
  std::string_view implementer, part, name;
};
constexpr Part kParts[] = {
    {"0x41", "0xd0c", "ARM Neoverse-N1"},           {"0x41", "0xd40", "ARM Neoverse-V1"},
    {"0x41", "0xd49", "ARM Neoverse-N2"},           {"0x41", "0xd4f", "ARM Neoverse-V2"},
    {"0x41", "0xd84", "ARM Neoverse-V3"},           {"0x41", "0xd8e", "ARM Neoverse-N3"},
    {"0xc0", "0xac3", "Ampere Computing Ampere-1"},
};

// Returns its name, or an empty text.
std::string name_of_part(const std::string& implementer, const std::string& part) {
  for (const Part& known : kParts) {
    if (known.implementer == implementer && known.part == part) return std::string(known.name);
  }
  return {};
}

std::vector<std::string> instruction_sets_of(const std::string& flags) {
  std::istringstream words(flags);
  const std::set<std::string> all{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> sets;
  for (const std::string_view set : kInstructionSets) {
    if (all.contains(std::string(set))) sets.emplace_back(set);
  }
  return sets;
}

// Finds the sockets and cores of an aarch64 processor, which /proc/cpuinfo does not list.
void read_topology(const fs::path& root, std::set<std::string>& sockets,
                   std::set<std::string>& cores) {
  for (const fs::path& processor : entries(root / "sys/devices/system/cpu")) {
    const std::string socket = first_line(processor / "topology/physical_package_id");
    const std::string core = first_line(processor / "topology/core_id");
    if (!socket.empty()) sockets.insert(socket);
    if (!core.empty()) cores.insert(socket + ":" + core);
  }
}

void read_processors(const fs::path& root, Machine& machine) {
  std::ifstream file = open_to_read(root / "proc/cpuinfo");
  std::set<std::string> sockets;
  std::set<std::string> cores;
  std::string socket;
  std::string line;
  std::string vendor, family, model, implementer, part;
  double mhz = 0;
  int processors = 0;
  while (read_line(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = unquoted(line.substr(0, colon));
    const std::string value = unquoted(line.substr(colon + 1));
    if (name == "processor") ++processors;
    if (name == "model name") machine.processor_model = value;
    if (name == "vendor_id") vendor = value;
    if (name == "cpu family") family = value;
    if (name == "model") model = value;
    if (name == "CPU implementer") implementer = value;
    if (name == "CPU part") part = value;
    if ((name == "flags" || name == "Features") && machine.instruction_sets.empty()) {
      machine.instruction_sets = instruction_sets_of(value);
    }
    if (name == "cpu MHz") mhz = std::max(mhz, number_in(value));
    if (name == "physical id") sockets.insert(socket = value);
    if (name == "core id") cores.insert(socket + ":" + value);
  }
  if (!vendor.empty() && !family.empty()) {
    machine.processor_family = fmt::format("{} family {} model {}", vendor, family, model);
  } else if (!implementer.empty() && !part.empty()) {
    machine.processor_family = fmt::format("implementer {} part {}", implementer, part);
    if (machine.processor_model.empty()) machine.processor_model = name_of_part(implementer, part);
    if (machine.processor_model.empty()) machine.processor_model = machine.processor_family;
  }
  if (sockets.empty()) read_topology(root, sockets, cores);
  machine.processors = std::max(1, processors);
  machine.sockets = std::max<int>(1, static_cast<int>(sockets.size()));
  machine.cores = cores.empty() ? machine.processors : static_cast<int>(cores.size());
  const double top_khz =
      number_in(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  if (top_khz > 0) {
    machine.frequency = fmt::format("{:.2f} GHz (highest)", top_khz / 1e6);
  } else if (mhz > 0) {
    machine.frequency = fmt::format("{:.2f} GHz", mhz / 1e3);
  }
}

// Reads the caches of the first processor, like "L1d 48 KiB, L1i 64 KiB, L2 2 MiB, L3 480 MiB".
void read_caches(const fs::path& root, Machine& machine) {
  for (const fs::path& cache : entries(root / "sys/devices/system/cpu/cpu0/cache")) {
    const std::string type = first_line(cache / "type");
    const double kibibytes = number_in(first_line(cache / "size"));
    if (kibibytes <= 0) continue;
    machine.caches +=
        fmt::format("{}L{}{} {}", machine.caches.empty() ? "" : ", ", first_line(cache / "level"),
                    type == "Data"          ? "d"
                    : type == "Instruction" ? "i"
                                            : "",
                    binary_size(kibibytes * 1024));
  }
}

void read_memory(const fs::path& root, Machine& machine) {
  std::ifstream file = open_to_read(root / "proc/meminfo");
  std::string line;
  while (read_line(file, line)) {
    if (!line.starts_with("MemTotal:")) continue;
    machine.memory = binary_size(number_in(unquoted(line.substr(9))) * 1024);
  }
}

void read_storage(const fs::path& root, Machine& machine) {
  std::vector<std::string> types;
  std::vector<std::string> sizes;
  for (const fs::path& disk : entries(root / "sys/block")) {
    const std::string name = disk.filename();
    const bool is_disk = name.starts_with("nvme") || name.starts_with("sd") ||
                         name.starts_with("vd") || name.starts_with("xvd") ||
                         name.starts_with("mmcblk");
    const double bytes = number_in(first_line(disk / "size")) * 512;
    if (!is_disk || bytes <= 0) continue;
    const bool rotates = first_line(disk / "queue/rotational") == "1";
    const bool is_virtual = name.starts_with("vd") || name.starts_with("xvd");
    types.push_back(name.starts_with("nvme") ? "NVMe SSD"
                    : is_virtual             ? "virtual disk"
                    : rotates                ? "HDD"
                                             : "SSD");
    sizes.push_back(binary_size(bytes) + " " + types.back());
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  machine.storage_type = fmt::format("{}", fmt::join(types, ", "));
  machine.storage_capacity = with_counts(sizes);
}

void read_network(const fs::path& root, Machine& machine) {
  std::vector<std::string> adapters;
  for (const fs::path& adapter : entries(root / "sys/class/net")) {
    std::error_code error;
    if (!fs::exists(adapter / "device", error)) continue;
    const std::string kind = first_line(adapter / "type") == "32" ? "InfiniBand" : "Ethernet";
    const double megabits = number_in(first_line(adapter / "speed"));
    adapters.push_back(megabits > 0 ? fmt::format("{} {:g} Gb/s", kind, megabits / 1e3) : kind);
  }
  machine.networking = with_counts(adapters);
}

void read_operating_system(const fs::path& root, Machine& machine) {
  std::ifstream file = open_to_read(root / "etc/os-release");
  std::string line;
  while (read_line(file, line)) {
    constexpr std::string_view kName = "PRETTY_NAME=";
    if (line.starts_with(kName)) machine.operating_system = unquoted(line.substr(kName.size()));
  }
  const std::string kernel = first_line(root / "proc/sys/kernel/osrelease");
  if (!kernel.empty()) {
    machine.operating_system +=
        fmt::format("{}Linux {}", machine.operating_system.empty() ? "" : ", ", kernel);
  }
}

std::string compiler_of_this_build() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

Machine inspect_machine(const fs::path& root) {
  Machine machine;
  read_processors(root, machine);
  read_caches(root, machine);
  read_memory(root, machine);
  read_storage(root, machine);
  read_network(root, machine);
  read_operating_system(root, machine);
  machine.compiler = compiler_of_this_build();
  return machine;
}

}  // namespace strata::harness
