// Any bytes as a log: read, checked, and mined for convergence and seeds.
#include <cstdint>
#include <string>

#include "compliance/checks/check_log.h"
#include "compliance/checks/convergence.h"
#include "compliance/package/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::compliance;
  static RuleStore rules;
  const std::string text(reinterpret_cast<const char*>(data), size);
  EventLog::from_text(text, "fuzz", LogFormat::kMll);
  const EventLog log = EventLog::from_text(text, "fuzz");
  for (const char* ruleset : {"2.0.0", "5.0.0"}) {
    for (const Finding& finding : check_log(log, rules, "training", ruleset).errors)
      describe(finding);
  }
  read_convergence(log, "5.0.0");
  check_seeds({read_seeds(log)});
  return 0;
}
