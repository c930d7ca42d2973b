// Numbers in sentences.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace strata {

// A number with all its digits and a comma at each thousand: "156,725,653", "0.7205". From
// 1,000 on it is rounded to an integer; below it has at most six significant digits. From 9e15 on,
// and below 1e-4, it has an exponent.
std::string count_text(double number);

// The same with `digits` significant digits below 1,000: "8.04", "23.5", "12,346".
std::string rounded_text(double number, int digits = 3);

// A number and the noun that it counts: "1 accelerator", "1,024 batches", "0 entries". `plural` is
// for nouns that are irregular.
std::string counted(double number, std::string_view noun, std::string_view plural = {});
// The noun alone, as it follows the number.
std::string noun_of(double number, std::string_view noun, std::string_view plural = {});

// The same for integers.
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
