// Sides that come from `strata bench ... --json` or a Google Benchmark program, with one or more
// documents.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"

namespace strata::compare {

// Numbers and texts by their path in the JSON, such as "modes.none.step_seconds", with a value per
// document. An object of an array is named by its first text (by all its texts if another object
// has the same first one), or by its index if it has no text. Google Benchmark's JSON only gives
// times: "NAME.seconds" is CPU time, or real time if the name says so, with a value per repetition.
struct MeasurementSide {
  std::string name;
  size_t documents = 0;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::string> texts;  // texts of the first document
};

// Reads `path`: a file of one or more JSON objects in a row, or a folder of .json files. Throws
// Error with file or folder for anything else.
MeasurementSide read_measurement_side(const std::filesystem::path& path);

// Returns the meaning of a greater number by its name: more seconds and bytes are worse, a higher
// rate per second is better, counts and formulas are neither.
Better better_of(std::string_view name);

// Compares the quantities in order of name, only those whose name contains one of `only`, unless it
// is empty. Leaves out equal numbers; texts and counts that differ become notes. Throws Error if
// the sides have no such number in common.
Comparison compare_measurements(const MeasurementSide& base, const MeasurementSide& other,
                                const std::vector<std::string>& only);

}  // namespace strata::compare
