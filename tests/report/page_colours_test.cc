#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "base/files/files.h"
#include "drawing/style.h"
#include "report/page.h"

namespace strata::report {
namespace {

// Relative luminance of a colour such as "#1a2b3c" (WCAG 2.1).
double luminance(const std::string& colour) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

TEST(PageColours, EveryLabelHasAContrastOfFourAndAHalf) {
  const std::string chart(drawing::style_sheet().text);
  std::string page;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == "page.css") page = file.text;
  }
  std::map<std::string, std::string> colours;
  const auto take = [&](const std::string& css) {
    const std::regex variable("--([a-z0-9]+): (#[0-9a-f]{6})");
    for (std::sregex_iterator found(css.begin(), css.end(), variable), end; found != end; ++found) {
      colours[(*found)[1]] = (*found)[2];
    }
  };
  take(chart);
  take(page.substr(0, page.find("@media")));
  for (const char* theme : {"light", "dark"}) {
    if (std::string(theme) == "dark") {
      const size_t begin = page.find(":root[data-theme=\"dark\"]");
      take(page.substr(begin, page.find('}', begin) - begin));
    }
    for (const char* text :
         {"text", "soft", "accent", "good", "bad", "c0", "c1", "c2", "c3", "c4", "c5", "c6"}) {
      for (const char* back : {"back", "card", "shade"}) {
        EXPECT_GE(contrast(colours.at(text), colours.at(back)), 4.5)
            << theme << ": " << text << " on " << back;
      }
    }
  }
  // Labels inside bars are white on the first part and black on the others.
  EXPECT_GE(contrast("#ffffff", colours.at("p0")), 4.5);
  for (int part = 1; part < 12; ++part) {
    EXPECT_GE(contrast("#000000", colours.at("p" + std::to_string(part))), 4.5) << part;
  }
}

}  // namespace
}  // namespace strata::report
