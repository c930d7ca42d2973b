// Parses the JSON of events' fields.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "mllog/log_reader.h"

namespace strata::scoring {

// Returns a discarded value if `text` is not JSON.
inline nlohmann::json parsed(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

// Returns a finite number, or nullopt for anything else.
inline std::optional<double> number_in(const nlohmann::json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value;
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Returns a field of an event's metadata, or null if there is none.
inline nlohmann::json metadata_of(const mllog::Event& event, const char* field) {
  const nlohmann::json metadata = parsed(event.metadata);
  return metadata.is_object() && metadata.contains(field) ? metadata.at(field) : nlohmann::json();
}

}  // namespace strata::scoring
