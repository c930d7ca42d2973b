#include "compliance/package/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "compliance/language/values/rule_value.h"
#include "mllog/python_digits.h"

namespace strata::compliance {
namespace {

// Returns equal texts for values that Python holds equal, such as 1 and 1.0.
std::string identity_of(const Value& value) {
  const Kind kind = value.kind();
  const bool is_number = kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kFloat;
  return is_number ? fmt::format("{}", to_double(value, "lineno")) : to_repr(value);
}

// Returns Python's int() of a seed, in decimal.
std::optional<std::string> integer_text(const Value& seed) {
  switch (seed.kind()) {
    case Kind::kBool:
    case Kind::kInt:
      return std::to_string(seed.integer());
    case Kind::kBigInt:
      return seed.text();
    case Kind::kFloat:
      if (!std::isfinite(seed.real())) return std::nullopt;
      return fmt::format("{:.0f}", std::trunc(seed.real()));
    case Kind::kStr:
      return mllog::python_int(seed.text());
    default:
      return std::nullopt;
  }
}

}  // namespace

LogSeeds read_seeds(const mllog::LogReader& log) {
  LogSeeds seeds;
  seeds.path = log.path();
  if (log.bad_line_count() > 0) {
    const mllog::BadLine& bad = log.bad_lines().front();
    seeds.problem =
        fmt::format("line {} cannot be parsed: {}", log.line_number(bad.offset), bad.reason);
    return seeds;
  }
  Heap heap;
  const auto read = [&](const mllog::Event& event) {
    if (event.key != "seed" || event.metadata.empty()) return true;
    const Value metadata = value_from_json(event.metadata, heap);
    const auto field = [&](std::string_view name) -> const Value* {
      return metadata.kind() == Kind::kDict ? metadata.dict().find(name) : nullptr;
    };
    const Value* file = field("file");
    const Value* line = field("lineno");
    const Value value = value_from_json(event.value, heap);
    const std::optional<std::string> seed = integer_text(value);
    if (file == nullptr || line == nullptr || !seed) {
      seeds.problem =
          fmt::format("line {}: {}", log.line_number(event.offset),
                      !seed ? fmt::format("the seed {} is not an integer", to_repr(value, 80))
                            : "the seed's metadata must have \"file\" and \"lineno\"");
      return false;
    }
    seeds.records.push_back({identity_of(*file), identity_of(*line), *seed});
    return true;
  };
  try {
    log.visit(read);
  } catch (const std::runtime_error& error) {  // an integer that no float holds, too much memory
    seeds.problem = error.what();
  }
  return seeds;
}

Section check_seeds(const std::vector<LogSeeds>& logs) {
  Section section{"Seeds", {}, {}, {}};
  std::map<std::tuple<std::string, std::string, std::string>, std::string> first_log;
  for (const LogSeeds& log : logs) {
    const std::string name = log.path.filename().string();
    if (!log.problem.empty()) {
      section.errors.push_back(fmt::format("{}: seeds cannot be read: {}", name, log.problem));
      continue;
    }
    if (log.records.empty()) section.errors.push_back(fmt::format("{}: logs no seed", name));
    if (log.records.size() > 1)
      section.warnings.push_back(fmt::format("{}: logs {} seeds", name, log.records.size()));
    for (const SeedRecord& record : log.records) {
      const auto [known, added] =
          first_log.emplace(std::tuple(record.file, record.line, record.seed), name);
      if (added) continue;
      section.errors.push_back(fmt::format("{}: seed {} of {}:{} is also used by {}", name,
                                           record.seed, record.file, record.line, known->second));
    }
  }
  return section;
}

}  // namespace strata::compliance
