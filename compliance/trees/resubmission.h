// "Same system, same code?" compares a submission with the round before.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace strata::compliance {

enum class Sameness { kSame, kDiffers, kNew };  // kNew: the round before has none of it

struct DescriptionChange {
  std::string field;
  std::optional<nlohmann::json> before, after;  // empty if a side lacks the field
};

struct SystemComparison {
  std::string submitter, system;
  std::filesystem::path path, before;  // descriptions; `before` is empty if there is none
  std::string ground;                  // why that one was chosen, if it has another name
  Sameness sameness = Sameness::kNew;
  std::vector<DescriptionChange> fields;
};

// A folder benchmarks/<benchmark>/implementations/<name>.
struct CodeComparison {
  std::string submitter, implementation;  // the path below the submitter
  Sameness sameness = Sameness::kNew;
  size_t files = 0;  // number of present files
  std::vector<std::string> changed, added, removed;
};

struct Resubmission {
  std::vector<SystemComparison> systems;
  std::vector<CodeComparison> code;
  std::vector<std::string> problems;  // failed comparisons, and why

  bool differs() const;
};

// `submission` and `round` are each the folder of a submitter or of a round. Submitters are matched
// by the names of their folders, ignoring case; systems by the names of their descriptions, else by
// "system_name". Links are compared, not followed. Throws Error if either holds no submitter.
Resubmission compare_with_round(const std::filesystem::path& submission,
                                const std::filesystem::path& round);

}  // namespace strata::compliance
