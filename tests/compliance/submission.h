// Writes whole submissions of BERT logs.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/compliance/bert_log.h"

namespace strata::testing {

// Returns a system description with every field. `more` is JSON at the end, which overrides fields.
inline std::string whole_description(const std::string& submitter, const std::string& system,
                                     const std::string& division = "closed",
                                     const std::string& more = "") {
  std::string json = R"({"division": ")" + division + R"(", "submitter": ")" + submitter +
                     R"(", "system_name": ")" + system + R"(", "status": "Available on-premise")";
  for (const char* field : {"number_of_nodes",
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
                            "sw_notes"}) {
    json += std::string(", \"") + field + "\": \"2\"";
  }
  return json + (more.empty() ? "" : ", " + more) + "}";
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Writes a closed submission that passes round 5.0. Its runs take a minute or more, have different
// seeds, and are slower than any reference. `change` may change each run.
inline void write_submission(const std::filesystem::path& round, const std::string& submitter,
                             const std::string& system, int runs,
                             const std::function<void(BertLog&, int)>& change = {}) {
  for (int i = 0; i < runs; ++i) {
    BertLog log = BertLog::passing("closed");
    log.set("seed", std::to_string(100 + i)).set("global_batch_size", "448");
    log.at("eval_accuracy").metadata = "\"epoch_num\": 99000000";
    log.at("run_stop").time_ms = log.at("run_start").time_ms + 60'000 + 1000 * i;
    if (change) change(log, i);
    write_text(
        round / submitter / "results" / system / "bert" / ("result_" + std::to_string(i) + ".txt"),
        log.text());
  }
  write_text(round / submitter / "systems" / (system + ".json"),
             whole_description(submitter, system));
}

}  // namespace strata::testing
