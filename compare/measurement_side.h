// Sides that are what `strata bench ... --json` or a program of Google Benchmark printed, once or
// many times.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"

namespace strata::compare {

// Numbers and texts by their place in the JSON, such as "modes.none.step_seconds": a value a
// document that has it. Objects in arrays are called by their first text, or by their place. Of
// Google Benchmark's JSON only the times: "NAME.seconds", CPU time, or real time where the
// benchmark's name says so; one value per repetition.
struct MeasurementSide {
  std::string name;
  size_t documents = 0;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::string> texts;  // of the first document
};

// `path`: a file with one or more JSON objects one after the other, or a folder of .json files.
// Throws Error, naming file and offset, for anything else.
MeasurementSide read_measurement_side(const std::filesystem::path& path);

// What a greater number means, by its name: more seconds and bytes are worse, more of anything a
// second is better; of counts and formulas neither.
Better better_of(std::string_view name);

// Quantities in order of name, those alone whose name contains one of `only`, if there are any.
// What both sides have the same is left out; texts and counts that differ are notes. Throws Error
// where the sides have no such number in common.
Comparison compare_measurements(const MeasurementSide& base, const MeasurementSide& other,
                                const std::vector<std::string>& only);

}  // namespace strata::compare
