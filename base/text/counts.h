// Numbers for sentences.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace strata {

// Formats a number with a comma at each thousand: "156,725,653", "0.7205". Rounds numbers from
// 1,000 on to an integer, smaller ones to at most six significant digits. Uses an exponent from
// 9e15 on, and below 1e-4.
std::string count_text(double number);

// The same with `digits` significant digits below 1,000: "8.04", "23.5", "12,346".
std::string rounded_text(double number, int digits = 3);

// Formats a number with the noun that it counts: "1 accelerator", "1,024 batches", "0 entries".
// `plural` is for irregular nouns.
std::string counted(double number, std::string_view noun, std::string_view plural = {});
// Returns only the noun, as it follows the number.
std::string noun_of(double number, std::string_view noun, std::string_view plural = {});

// Returns the first text and the number of the others: "a.txt: is empty (and 3 more reasons)".
// Returns an empty text if there are no texts.
std::string first_and_count(std::span<const std::string> texts, std::string_view noun);

// Formats an integer as count_text(double) does.
template <std::integral Integer>
std::string count_text(Integer number) {
  return count_text(static_cast<double>(number));
}
template <std::integral Integer>
std::string counted(Integer number, std::string_view noun, std::string_view plural = {}) {
  return counted(static_cast<double>(number), noun, plural);
}
template <std::integral Integer>
std::string noun_of(Integer number, std::string_view noun, std::string_view plural = {}) {
  return noun_of(static_cast<double>(number), noun, plural);
}

}  // namespace strata
