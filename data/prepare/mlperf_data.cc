#include "data/prepare/mlperf_data.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/threads/parallel.h"
#include "base/timing.h"
#include "data/files/part_name.h"
#include "data/prepare/md5.h"
#include "data/prepare/provenance.h"

namespace strata::data {
namespace {

namespace fs = std::filesystem;

constexpr int kMlperfRecipeVersion = 1;  // increases when equal inputs give other instances

// github.com/mlcommons/training, retired_benchmarks/bert/README.md.
constexpr std::string_view kOfficialEval = "2a220f790517261547b1b45ed3ada07a";
constexpr std::string_view kOfficialVocabulary = "64800d5d8528ce344256daf115d4965e";

struct FileToMake {
  fs::path text;
  fs::path out;
  bool is_eval = false;
};

std::vector<FileToMake> list_tasks(const MlperfDataOptions& options) {
  std::vector<fs::path> parts;
  uint32_t count = 0;
  for (const fs::path& path : list_directory(options.text)) {
    if (const auto part = parse_part(path.filename().string())) {
      if (count != 0 && part->count != count) {
        fail(
            "{}: has parts of two texts, one in {} parts and one in {}; give a directory with one "
            "text",
            options.text.string(), count, part->count);
      }
      count = part->count;
      parts.push_back(path);
    }
  }
  const fs::path eval = options.text / "eval.txt";
  std::error_code error;
  const bool has_eval = fs::exists(eval, error);
  if (parts.empty() && !(options.incomplete && has_eval)) {
    fail("{}: holds no part-NNNNN-of-NNNNN; give the directory of MLPerf's text",
         options.text.string());
  }
  if (!options.incomplete && !has_eval) {
    fail("{}: is missing; fetch it, or give --incomplete to continue without it", eval.string());
  }
  for (uint32_t i = 0; i < count && !options.incomplete; ++i) {
    const fs::path expected = options.text / fmt::format("part-{:05}-of-{:05}", i, count);
    if (i >= parts.size() || parts[i] != expected) {
      fail("{}: is missing ({} of {}); fetch it, or give --incomplete to continue without it",
           expected.string(), count - parts.size(), counted(count, "part"));
    }
  }
  // Evaluation comes first, so that problems with the text show early.
  std::vector<FileToMake> tasks;
  if (has_eval) tasks.push_back({eval, options.out / "eval.hdf5", true});
  for (const fs::path& part : parts) {
    fs::path out = options.out / "train" / part.filename();
    tasks.push_back({part, out += ".hdf5", false});
  }
  return tasks;
}

// Everything in `directory` will be trained on.
void refuse_others(const fs::path& directory, const std::vector<FileToMake>& tasks) {
  for (const fs::path& path : list_directory(directory)) {
    const auto is_made = [&](const FileToMake& task) { return task.out == path; };
    if (is_named_as_data(path) && std::none_of(tasks.begin(), tasks.end(), is_made)) {
      fail(
          "{}: was made from a part of the text that is not given now; give it, too, move the file "
          "away, or choose another --out",
          path.string());
    }
  }
}

class Maker {
 public:
  Maker(const MlperfDataOptions& options, const Vocabulary& vocabulary)
      : options_(options), vocabulary_(vocabulary) {}

  struct Made {
    uint64_t samples = 0;
    bool skipped = false;
    NewerCharacters newer_characters;
    std::vector<std::string> warnings;
  };
  Made make(const FileToMake& task) const {
    const std::string text_hash = to_hex(hash_files(std::span(&task.text, 1)));
    const std::string made_from = provenance(task, text_hash);
    if (!options_.force && is_made_from(task.out, made_from)) {
      return {
          describe_instance_file(task.out).samples, true, NewerCharacters(options_.unicode), {}};
    }
    Made made{.newer_characters = NewerCharacters(options_.unicode)};
    const Corpus corpus = read_raw_text(std::span(&task.text, 1), vocabulary_, 1, options_.unicode,
                                        &made.newer_characters, &made.warnings);
    if (const std::string doubt = doubt_about_next_sentences(corpus); !doubt.empty()) {
      made.warnings.push_back(fmt::format("{}: {}", task.text.string(), doubt));
    }
    Instances instances = make_reference_instances(corpus, options_.recipe, vocabulary_);
    if (task.is_eval) instances = pick_eval_samples(instances, options_.eval_samples);
    InstanceFileInfo info = info_of(options_.recipe, vocabulary_, text_hash);
    info.form = options_.form;
    info.made_from = made_from;
    write_instances(task.out, instances, info);
    made.samples = instances.size();
    return made;
  }

 private:
  std::string provenance(const FileToMake& task, const std::string& text_hash) const {
    nlohmann::ordered_json inputs = {{"recipe", "mlperf reference"},
                                     {"recipe_version", kMlperfRecipeVersion},
                                     {"text", task.text.filename().string()},
                                     {"text_hash", text_hash},
                                     {"vocabulary_hash", to_hex(vocabulary_.hash())},
                                     {"format", form_name(options_.form)}};
    inputs.update(to_json(options_.recipe));
    if (task.is_eval) inputs["eval_samples"] = options_.eval_samples;
    add_unicode(inputs, options_.unicode);
    return json_text(inputs);
  }

  const MlperfDataOptions& options_;
  const Vocabulary& vocabulary_;
};

// Reports progress, one line at a time. Calls must not overlap.
class Report {
 public:
  Report(size_t total, const std::function<void(std::string_view)>& print)
      : total_(total), print_(print) {}

  void add(const FileToMake& task, const Maker::Made& made) {
    ++(made.skipped ? skipped_ : made_);
    const size_t done = skipped_ + made_;
    std::string line = fmt::format("{} of {}: {}, {}", done, total_, task.out.filename().string(),
                                   counted(made.samples, "sample"));
    if (made.skipped) line += ", exists already";
    if (made_ > 0 && done < total_) line += fmt::format("; {} left", time_left(total_ - done));
    print_(line);
  }
  size_t skipped() const { return skipped_; }

 private:
  std::string time_left(size_t files) const {
    const double seconds =
        seconds_since(started_) / static_cast<double>(made_) * static_cast<double>(files);
    return seconds < 90 ? fmt::format("{:.0f} s", seconds)
                        : fmt::format("{:.0f} min", seconds / 60);
  }

  Clock::time_point started_ = Clock::now();
  size_t total_, made_ = 0, skipped_ = 0;
  const std::function<void(std::string_view)>& print_;
};

}  // namespace

Instances pick_eval_samples(const Instances& all, uint32_t count) {
  const double ratio = static_cast<double>(all.size()) / count;
  Instances out;
  for (uint32_t i = 0; i < count; ++i) out.append(all, static_cast<size_t>(i * ratio));
  return out;
}

MlperfDataSummary make_mlperf_data(const MlperfDataOptions& options,
                                   const std::function<void(std::string_view)>& report) {
  const auto started = Clock::now();
  check_recipe(options.recipe);
  const std::vector<FileToMake> tasks = list_tasks(options);
  const Vocabulary vocabulary = Vocabulary::read(options.vocabulary);
  require_writable_directory(options.out);
  require_writable_directory(options.out / "train");
  refuse_others(options.out / "train", tasks);

  MlperfDataSummary summary{.newer_characters = NewerCharacters(options.unicode)};
  summary.files = tasks.size();
  const auto check_md5 = [&](const fs::path& path, std::string_view official) {
    const std::string found = md5(read_file(path));
    if (found == official) return;
    summary.unofficial.push_back(
        fmt::format("{}: MD5 {}, MLPerf's is {}", path.string(), found, official));
    report("not MLPerf's official file: " + summary.unofficial.back() +
           "; fetch it again, or samples differ from the reference's");
  };
  check_md5(options.vocabulary, kOfficialVocabulary);
  if (tasks.front().is_eval) check_md5(tasks.front().text, kOfficialEval);

  const Maker maker(options, vocabulary);
  Report lines(tasks.size(), report);
  std::mutex mutex;  // guards `lines` and `summary`
  parallel_for(tasks.size(), options.threads, [&](size_t i) {
    const Maker::Made made = maker.make(tasks[i]);
    const std::lock_guard lock(mutex);
    (tasks[i].is_eval ? summary.eval_samples : summary.train_samples) += made.samples;
    summary.newer_characters.add(made.newer_characters);
    summary.warnings.insert(summary.warnings.end(), made.warnings.begin(), made.warnings.end());
    lines.add(tasks[i], made);
  });
  summary.skipped = lines.skipped();
  for (const fs::path& path : {options.out / "train", options.out / "eval.hdf5"}) {
    const bool is_made = std::ranges::any_of(tasks, [&](const FileToMake& task) {
      return task.is_eval ? task.out == path : task.out.parent_path() == path;
    });
    if (!is_made || (summary.skipped == summary.files && fs::exists(index_path(path)))) continue;
    report(fmt::format("indexing {}", path.string()));
    write_index(std::span(&path, 1), options.form == InstanceForm::kMlperfVariable);
    if (path.filename() != "train") continue;
    write_file_atomically(
        options.out / "train.shapes",
        to_text(open_instances(path, {INT32_MAX, INT32_MAX, true})->index().classes()));
  }
  if (const std::string found = summary.newer_characters.describe(); !found.empty()) report(found);
  std::ranges::sort(summary.warnings);  // files finish in any order
  for (const std::string& warning : summary.warnings) report("warning: " + warning);
  summary.seconds = seconds_since(started);
  return summary;
}

}  // namespace strata::data
