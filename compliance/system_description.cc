#include "compliance/system_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "compliance/json_scan.h"
#include "compliance/rounds.h"
#include "compliance/rule_value.h"

namespace strata::compliance {
namespace {

constexpr std::array<std::string_view, 33> kRequired = {"submitter",
                                                        "division",
                                                        "status",
                                                        "system_name",
                                                        "number_of_nodes",
                                                        "host_processors_per_node",
                                                        "host_processor_model_name",
                                                        "host_processor_core_count",
                                                        "host_processor_vcpu_count",
                                                        "host_processor_frequency",
                                                        "host_processor_caches",
                                                        "host_processor_interconnect",
                                                        "host_memory_capacity",
                                                        "host_storage_type",
                                                        "host_storage_capacity",
                                                        "host_networking",
                                                        "host_networking_topology",
                                                        "host_memory_configuration",
                                                        "accelerators_per_node",
                                                        "accelerator_model_name",
                                                        "accelerator_host_interconnect",
                                                        "accelerator_frequency",
                                                        "accelerator_on-chip_memories",
                                                        "accelerator_memory_configuration",
                                                        "accelerator_memory_capacity",
                                                        "accelerator_interconnect",
                                                        "accelerator_interconnect_topology",
                                                        "cooling",
                                                        "hw_notes",
                                                        "framework",
                                                        "other_software_stack",
                                                        "operating_system",
                                                        "sw_notes"};

// The official checker joins these as text and stops at anything else.
constexpr std::array<std::string_view, 7> kText = {"submitter",
                                                   "system_name",
                                                   "host_processor_model_name",
                                                   "host_processor_core_count",
                                                   "accelerator_model_name",
                                                   "accelerators_per_node",
                                                   "framework"};

constexpr std::array<std::string_view, 4> kAvailability = {
    "Available on-premise", "Available cloud", "Research, Development, or Internal (RDI)",
    "Preview"};

// The text as a value, or the reason why it is not JSON.
std::optional<Value> parse(std::string_view json, Heap& heap, std::string& reason) {
  const size_t start = std::min(json.find_first_not_of(" \t\r\n"), json.size());
  JsonScanner scanner(json.substr(start));
  if (scanner.skip_value()) {
    scanner.skip_space();
    if (scanner.at_end()) return value_from_json(json.substr(start), heap);
    scanner.set_error("extra data");
  }
  const size_t at = start + scanner.position();
  reason = fmt::format(
      "not valid JSON at line {}: {}",
      1 + std::count(json.begin(), json.begin() + static_cast<std::ptrdiff_t>(at), '\n'),
      scanner.error());
  return std::nullopt;
}

}  // namespace

Section check_system_text(std::string_view json, const std::string& name, std::string_view usage,
                          std::string_view ruleset) {
  Section section{"System description " + name, {}, {}, {}};
  Heap heap;
  std::string reason;
  const std::optional<Value> contents = parse(json, heap, reason);
  if (!contents || contents->kind() != Kind::kDict) {
    section.errors.push_back(
        fmt::format("{}: {}", name, contents ? "a JSON object was expected" : reason));
    return section;
  }
  Dict& fields = contents->dict();
  for (const std::string_view field : kRequired) {
    if (fields.find(field) == nullptr)
      section.errors.push_back(fmt::format("{}: missing field \"{}\"", name, field));
  }
  const Value* status = fields.find("status");
  if (usage == "training" && compare_versions(ruleset, "4.0.0") >= 0 && status != nullptr) {
    const bool allowed = status->kind() == Kind::kStr &&
                         std::find(kAvailability.begin(), kAvailability.end(), status->text()) !=
                             kAvailability.end();
    if (!allowed) {
      section.errors.push_back(fmt::format("{}: \"status\" is {}; one of these was wanted: {}",
                                           name, to_repr(*status, 100),
                                           fmt::join(kAvailability, "; ")));
    }
  }
  for (const std::string_view field : kText) {
    const Value* value = fields.find(field);
    if (value != nullptr && value->kind() != Kind::kStr) {
      section.warnings.push_back(
          fmt::format("{}: \"{}\" is {}; the official checker stops unless it is a string", name,
                      field, to_repr(*value, 100)));
    }
  }
  return section;
}

Section check_system_description(const std::filesystem::path& path, std::string_view usage,
                                 std::string_view ruleset) {
  return check_system_text(read_file(path), path.filename().string(), usage, ruleset);
}

std::string system_division(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  Heap heap;
  std::string reason;
  const std::optional<Value> contents = parse(read_file(path), heap, reason);
  if (!contents || contents->kind() != Kind::kDict) return {};
  const Value* division = contents->dict().find("division");
  return division != nullptr && division->kind() == Kind::kStr ? division->text() : std::string();
}

}  // namespace strata::compliance
