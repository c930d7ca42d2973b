#include "report/page.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/text/counts.h"
#include "drawing/style.h"

namespace strata::report {
namespace {

const EmbeddedFile& embedded(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return file;
  }
  fail("the program was built without {}", name);
}

// Returns a source of a content security policy: 'sha256-...' in base64.
std::string hash_source(const EmbeddedFile& file) {
  std::string bytes;
  for (size_t i = 0; i + 1 < file.sha256.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(file.sha256.data() + i, file.sha256.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return "'sha256-" + base64(bytes) + "'";
}

std::string choice(const std::string& id, const std::string& label, const std::string& every,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  std::string html =
      fmt::format("<label>{} <select id=\"{}\"><option value=\"\">{}</option>", label, id, every);
  for (const auto& [value, text] : values) {
    html += fmt::format("<option value=\"{}\">{}</option>", escape(value), escape(text, 60));
  }
  return html + "</select></label>\n";
}

std::string navigation(const ReportData& data, const std::vector<Section>& sections, bool watches) {
  std::string html = "<nav aria-label=\"Sections and choices\"><div><ul>";
  for (const Section& section : sections) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, escape(section.title));
  }
  html += "</ul>\n<div class=\"choices\">";
  if (data.groups.size() > 1) {
    std::vector<std::pair<std::string, std::string>> names;
    for (const std::string& name : data.groups) names.emplace_back(name, benchmark_name(name));
    html += choice("benchmark", "Benchmark", "all", names);
  }
  if (data.systems.size() > 1) {
    std::vector<std::pair<std::string, std::string>> names;
    for (size_t i = 0; i < data.systems.size(); ++i) {
      names.emplace_back(std::to_string(i), data.systems[i]);
    }
    html += choice("system", "Highlight", "none", names);
  }
  html += "<button type=\"button\" id=\"theme\">Theme</button>";
  if (watches) html += "<span id=\"state\" role=\"status\"></span>";
  return html + "</div></div></nav>\n";
}

}  // namespace

namespace {

bool fails_rcp(const ReportedFolder& folder, bool watched) {
  const scoring::Score& score = folder.score;
  return score.held_to_rcp && score.rcp.outcome() == compliance::Outcome::kFailed &&
         !(watched && awaits_runs(folder));
}

size_t failing_rcp(const std::vector<const ReportedFolder*>& folders, bool watched) {
  size_t count = 0;
  for (const ReportedFolder* folder : folders) count += fails_rcp(*folder, watched) ? 1 : 0;
  return count;
}

// Explains terms to readers who have only the page.
constexpr char kWords[] =
    "<details><summary>Words</summary><dl><dt>Minutes to train</dt><dd>The score: the olympic mean "
    "of the times from run_start to run_stop of the runs that count, multiplied by the factor in "
    "scaling.json. An olympic mean drops the fastest and the slowest run (unet3d: four of each). "
    "With fewer runs than a submission needs, the score is their plain mean.</dd><dt>A run "
    "that counts</dt><dd>Its log breaks no rule of the round, or there are no rules here for its "
    "benchmark. It says success and when it began and ended.</dd><dt>Spread of runs</dt><dd>The "
    "time of the slowest run that counts, divided by that of the fastest, minus 1.</dd><dt>Closed "
    "and open</dt><dd>MLPerf's divisions: closed trains the reference model; open may change it "
    "and says so.</dd><dt>Reference points</dt><dd>The number of samples that the reference needs "
    "at a batch size. A closed submission must not need significantly "
    "fewer.</dd><dt>Imbalance</dt><dd>The work of the rank that has the most, divided by the "
    "mean.</dd><dt>Exposed communication</dt><dd>The part of communication that a step waits for, "
    "because no computation hides it.</dd></dl></details>\n";

}  // namespace

std::string summary_of(const ReportData& data, bool watched) {
  std::string html;
  for (const std::string& benchmark : data.groups) {
    const auto folders = folders_of(data, benchmark);
    size_t scored = 0, runs = 0, counting = 0;
    for (const ReportedFolder* folder : folders) {
      scored += folder->score.time_to_train_ms ? 1 : 0;
      runs += folder->score.runs.size();
      counting += folder->score.counting_runs();
    }
    std::string text =
        fmt::format("{}: {} of {} {} a score; {} of {} {}.", benchmark_name(benchmark), scored,
                    counted(folders.size(), "system"), scored == 1 ? "has" : "have", counting,
                    counted(runs, "run"), counting == 1 ? "counts" : "count");
    const scoring::Score& fastest = folders.front()->score;
    if (fastest.time_to_train_ms) {
      text += fmt::format(" The fastest is {}{}: {} to train", plain(folders.front()->owner.name),
                          folders.front()->beside ? " (shown beside)" : "",
                          duration(*fastest.time_to_train_ms / 1000));
      const std::string accelerators = plain(accelerators_in_words(fastest), 80);
      if (!accelerators.empty()) text += " on " + accelerators;
      text += '.';
      if (fails_rcp(*folders.front(), watched)) {
        text += " It fails the check against reference points.";
      }
    }
    if (const size_t failed = failing_rcp(folders, watched); failed > 0) {
      text += fmt::format(" {} of the systems {} the check against reference points.", failed,
                          failed == 1 ? "fails" : "fail");
    }
    html += fmt::format("<li{}>{}</li>", owner_attributes(-1, benchmark), escape(text, 1000));
  }
  return "<ul>" + html + "</ul>\n";
}

namespace {

std::string page_around(const PageInput& input, const std::string& navigation,
                        const std::string& content, const std::string& footer) {
  const EmbeddedFile& style = embedded("page.css");
  const EmbeddedFile& script = embedded("page.js");
  const bool watches = input.refresh_seconds > 0;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {} {}; "
      "script-src {}; img-src data:; {}base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"generator\" content=\"Strata\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>",
      hash_source(drawing::style_sheet()), hash_source(style), hash_source(script),
      watches ? "connect-src 'self'; " : "", escape(input.title));
  html += fmt::format("{}</style>\n<style>{}", drawing::style_sheet().text, style.text);
  html += fmt::format("</style>\n</head>\n<body{}>\n",
                      watches ? fmt::format(" data-refresh=\"{}\"", input.refresh_seconds) : "");
  html += "<a class=\"skip\" href=\"#content\">To the content</a>\n";
  html += fmt::format("<header><h1>{}</h1></header>\n", escape(input.title));
  html += navigation + "<main id=\"content\" tabindex=\"-1\">\n" + content + "</main>\n";
  html += "<footer><p>" + footer + "</p></footer>\n<script>";
  html += script.text;
  return html + "</script>\n</body>\n</html>\n";
}

}  // namespace

std::string make_message_page(const std::string& message, const PageInput& input) {
  return page_around(input, navigation({}, {}, input.refresh_seconds > 0), paragraph(message),
                     "Made by Strata " + escape(input.version) + ".");
}

std::string make_page(const ReportData& data, const PageInput& input) {
  const bool watched = input.refresh_seconds > 0;
  std::vector<Section> sections;
  const auto add = [&](Section section) {
    if (!section.html.empty()) sections.push_back(std::move(section));
  };
  if (watched) add(running_section(data));
  add(results_section(data, watched));
  add(accuracy_section(data));
  add(speed_section(data));
  add(time_section(data));
  add(reference_section(data, input.rcp_directory));
  add(plan_section(data, input.plans));
  add(measurements_section(input.measurements));
  add(settings_section(data));
  if (!watched) add(running_section(data));
  add(checks_section(data, watched));

  std::string content = summary_of(data, watched);
  for (const Section& section : sections) {
    content +=
        fmt::format("<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                    section.id, escape(section.title), section.html);
  }
  content += kWords;
  const std::string footer = fmt::format(
      "Made by Strata {} from the logs of {}{}. Runs are judged and scored as by <code>strata "
      "score</code>.",
      escape(input.version), counted(data.folders.size(), "result folder"),
      input.sources.empty() ? "" : ": " + escape(input.sources, 1000));
  return page_around(input, navigation(data, sections, input.refresh_seconds > 0), content, footer);
}

}  // namespace strata::report
