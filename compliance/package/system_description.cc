#include "compliance/package/system_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "compliance/checks/rounds.h"
#include "compliance/language/values/rule_value.h"
#include "mllog/json_scan.h"

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

// Real descriptions have a few kilobytes.
constexpr uint64_t kMaxDescriptionBytes = 1 << 20;

// Returns the text as a value, or the reason why it is not JSON.
std::optional<Value> parse(std::string_view json, Heap& heap, std::string& reason) {
  const size_t start = std::min(json.find_first_not_of(" \t\r\n"), json.size());
  mllog::JsonScanner scanner(json.substr(start));
  if (scanner.skip_value()) {
    scanner.skip_space();
    if (scanner.at_end()) {
      try {
        return value_from_json(json.substr(start), heap);
      } catch (const RuleBudgetError& error) {
        reason = error.what();
        return std::nullopt;
      }
    }
    scanner.set_error("extra data after the JSON value");
  }
  const size_t at = start + scanner.position();
  reason = fmt::format(
      "not valid JSON at line {}: {}",
      1 + std::count(json.begin(), json.begin() + static_cast<std::ptrdiff_t>(at), '\n'),
      scanner.error());
  return std::nullopt;
}

// Follows RFC 3629: no overlong forms, surrogates, or numbers above 10FFFF.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80   ? 0
                     : lead < 0xc2 ? -1
                     : lead < 0xe0 ? 1
                     : lead < 0xf0 ? 2
                     : lead < 0xf5 ? 3
                                   : -1;
    if (more < 0 || i + static_cast<size_t>(more) >= text.size()) return false;
    for (int j = 1; j <= more; ++j) {
      const auto byte = static_cast<unsigned char>(text[i + static_cast<size_t>(j)]);
      unsigned low = 0x80, high = 0xbf;
      if (j == 1 && lead == 0xe0) low = 0xa0;
      if (j == 1 && lead == 0xed) high = 0x9f;
      if (j == 1 && lead == 0xf0) low = 0x90;
      if (j == 1 && lead == 0xf4) high = 0x8f;
      if (byte < low || byte > high) return false;
    }
    i += static_cast<size_t>(more) + 1;
  }
  return true;
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
      section.errors.push_back(fmt::format("{}: \"status\" is {}; it must be one of: {}", name,
                                           to_repr(*status, 100), fmt::join(kAvailability, "; ")));
    }
  }
  for (const std::string_view field : kText) {
    const Value* value = fields.find(field);
    if (value != nullptr && value->kind() != Kind::kStr) {
      section.warnings.push_back(
          fmt::format("{}: \"{}\" is {}; write it as a string, because the official checker stops "
                      "with an error otherwise",
                      name, field, to_repr(*value, 100)));
    }
  }
  return section;
}

Section check_system_description(const std::filesystem::path& path, std::string_view usage,
                                 std::string_view ruleset) {
  const std::string name = path.filename().string();
  std::string text;
  try {
    text = read_file(path, kMaxDescriptionBytes);
  } catch (const ReadError&) {
    throw;
  } catch (const Error& error) {
    return {"System description " + name, {error.what()}, {}, {}};
  }
  Section section = check_system_text(text, name, usage, ruleset);
  if (!is_utf8(text)) {
    section.warnings.push_back(
        fmt::format("{}: has bytes that are not UTF-8; convert it, because the official checker "
                    "stops with an error at them",
                    name));
  }
  return section;
}

std::string system_division(const std::filesystem::path& path) {
  Heap heap;
  std::string reason;
  try {
    const std::optional<Value> contents =
        parse(read_file(path, kMaxDescriptionBytes), heap, reason);
    if (!contents || contents->kind() != Kind::kDict) return {};
    const Value* division = contents->dict().find("division");
    return division != nullptr && division->kind() == Kind::kStr ? division->text() : std::string();
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {
    return {};  // the checks of the description report it
  }
}

}  // namespace strata::compliance
