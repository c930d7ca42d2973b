// Formats fields of a system description like the official summarizer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/text/json.h"
#include "compliance/package/scaling.h"

namespace strata::scoring {

// Returns Python's str() of a value, and JSON for lists and objects.
inline std::string python_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_float()) return compliance::python_float(value.get<double>());
  return json_text(value);
}

}  // namespace strata::scoring
