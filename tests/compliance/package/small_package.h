// A submission of one system with BERT logs, and its check.
#pragma once

#include <string>

#include "compliance/package/package.h"
#include "compliance/package/report.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"

namespace strata::compliance {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing::whole_description;

inline constexpr const char* kResults = "Strata/results/laptop/bert/";

inline std::string system_description(const std::string& division,
                                      const std::string& status = "Available on-premise") {
  return whole_description("Strata", "laptop", division, R"("status": ")" + status + '"');
}

// A submission that passes: ten runs with seeds of their own, slower than any reference.
inline void write_package(const TemporaryFolder& folder, const std::string& division,
                          int logs = 10) {
  for (int i = 0; i < logs; ++i) {
    BertLog log = BertLog::passing(division);
    log.set("seed", std::to_string(100 + i)).set("global_batch_size", "448");
    log.at("eval_accuracy").metadata = "\"epoch_num\": 99000000";
    folder.write(std::string(kResults) + "result_" + std::to_string(i) + ".txt", log.text());
  }
  folder.write("Strata/systems/laptop.json", system_description(division));
}

inline PackageVerdict check(const TemporaryFolder& folder, const std::string& ruleset = "5.0.0") {
  RuleStore rules;
  PackageOptions options;
  options.ruleset = ruleset;
  return check_package(folder.path() / "Strata", rules, options);
}

inline std::string text_of(const TemporaryFolder& folder) { return package_text(check(folder)); }

}  // namespace strata::compliance
