#include "harness/host/system_description.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json.h"

namespace strata::harness {
namespace {

const char* availability(config::SubmissionStatus status) {
  switch (status) {
    case config::SubmissionStatus::kOnprem:
      return "Available on-premise";
    case config::SubmissionStatus::kCloud:
      return "Available cloud";
    case config::SubmissionStatus::kResearch:
      return "Research, Development, or Internal (RDI)";
  }
  return "";
}

std::string known(const std::string& text) { return text.empty() ? "N/A" : text; }

std::string count(int number) { return std::to_string(number); }

// Returns the text's letters and digits with single underscores between them.
std::string file_name_of(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

std::string without_marks(std::string model) {
  for (const char* mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (size_t at = model.find(mark); at != std::string::npos; at = model.find(mark)) {
      model.erase(at, std::string_view(mark).size());
    }
  }
  return model;
}

nlohmann::ordered_json software_stack(const Machine& machine, const SystemFacts& facts) {
  auto stack = nlohmann::ordered_json::object();
  stack["compiler"] = known(machine.compiler);
  for (const auto& [name, version] : facts.libraries) stack[name] = version;
  return stack;
}

void add_host(nlohmann::ordered_json& json, const Machine& machine) {
  const int sockets = std::max(1, machine.sockets);
  json["host_processors_per_node"] = count(sockets);
  json["host_processor_model_name"] = known(machine.processor_model);
  json["host_processor_core_count"] = count(machine.cores / sockets);
  json["host_processor_vcpu_count"] = count(machine.processors / sockets);
  json["host_processor_frequency"] = known(machine.frequency);
  json["host_processor_caches"] = known(machine.caches);
  json["host_processor_interconnect"] = "N/A";
  json["host_memory_capacity"] = known(machine.memory);
  json["host_memory_configuration"] = "N/A";
  json["host_storage_type"] = known(machine.storage_type);
  json["host_storage_capacity"] = known(machine.storage_capacity);
  json["host_networking"] = known(machine.networking);
  json["host_networking_topology"] = "N/A";
}

void add_accelerators(nlohmann::ordered_json& json, const SystemFacts& facts) {
  json["accelerators_per_node"] = count(facts.accelerator ? facts.ranks / facts.nodes : 0);
  for (const char* field : {"accelerator_model_name", "accelerator_host_interconnect",
                            "accelerator_frequency", "accelerator_on-chip_memories",
                            "accelerator_memory_configuration", "accelerator_memory_capacity",
                            "accelerator_interconnect", "accelerator_interconnect_topology"}) {
    json[field] = "N/A";
  }
  if (!facts.accelerator) return;
  json["accelerator_model_name"] = facts.accelerator->name;
  json["accelerator_memory_capacity"] = fmt::format(
      "{} GB", std::lround(1e-9 * static_cast<double>(facts.accelerator->memory_bytes)));
}

// Returns a description without these fields, or a discarded value if `text` is not an object.
nlohmann::json fields_but(const std::string& text, std::initializer_list<const char*> left_out) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return nlohmann::json(nlohmann::json::value_t::discarded);
  for (const char* field : left_out) json.erase(field);
  return json;
}

}  // namespace

std::string system_name(const config::RunConfig& config, const Machine& machine,
                        const SystemFacts& facts) {
  if (config.run.system) return *config.run.system;
  const std::string& model = facts.accelerator ? facts.accelerator->name : machine.processor_model;
  std::string name = file_name_of(without_marks(model)).substr(0, 80);
  if (name.empty()) name = "unknown_processor";
  if (facts.nodes > 1) name = fmt::format("{}x{}", facts.nodes, name);
  return fmt::format("{}_{}{}", name, facts.ranks, noun_of(facts.ranks, "rank"));
}

std::string system_description_json(const config::RunConfig& config, const Machine& machine,
                                    const SystemFacts& facts) {
  // Not null, which nlohmann json 3.11.2 corrupts if memory runs out while it becomes an object.
  auto json = nlohmann::ordered_json::object();
  json["submitter"] = config.run.organization;
  json["division"] = name_of(config.run.division);
  json["status"] = availability(config.run.status);
  json["system_name"] = system_name(config, machine, facts);
  json["number_of_nodes"] = count(facts.nodes);
  add_host(json, machine);
  add_accelerators(json, facts);
  json["cooling"] = "N/A";
  json["hw_notes"] = facts.device;
  json["framework"] = "Strata " STRATA_VERSION;
  json["other_software_stack"] = software_stack(machine, facts);
  json["operating_system"] = known(machine.operating_system);
  json["sw_notes"] = fmt::format("{} {}{}{}", facts.ranks, noun_of(facts.ranks, "rank"),
                                 config.run.notes.empty() ? "" : "; ", config.run.notes);
  return json_text(json, 2) + "\n";
}

bool describe_same_system(const std::string& a, const std::string& b) {
  const auto first = fields_but(a, {"host_processor_frequency"});
  return first.is_object() && first == fields_but(b, {"host_processor_frequency"});
}

bool describe_other_ranks(const std::string& a, const std::string& b) {
  const auto kOfRanks = {"host_processor_frequency", "system_name", "number_of_nodes",
                         "accelerators_per_node",    "hw_notes",    "sw_notes"};
  const auto described = [&](const std::string& text) {
    nlohmann::json json = fields_but(text, kOfRanks);
    // These libraries only serve several ranks.
    for (const char* library : {"MPI", "NCCL"}) {
      if (json.is_object() && json["other_software_stack"].is_object()) {
        json["other_software_stack"].erase(library);
      }
    }
    return json;
  };
  const auto first = described(a);
  return first.is_object() && first == described(b) && !describe_same_system(a, b);
}

std::vector<std::string> differing_fields(const std::string& a, const std::string& b) {
  auto first = fields_but(a, {"host_processor_frequency"}),
       second = fields_but(b, {"host_processor_frequency"});
  if (!first.is_object() || !second.is_object()) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : first.items()) {
    if (!second.contains(name) || second[name] != value) names.push_back(name);
  }
  for (const auto& [name, value] : second.items()) {
    if (!first.contains(name)) names.push_back(name);
  }
  return names;
}

bool differ_in_ranks_only(const std::string& a, const std::string& b) {
  static const std::regex kName("(?:[0-9]+x)?(.+)_[0-9]+ranks?");
  std::smatch first, second;
  return a != b && std::regex_match(a, first, kName) && std::regex_match(b, second, kName) &&
         first[1] == second[1];
}

}  // namespace strata::harness
