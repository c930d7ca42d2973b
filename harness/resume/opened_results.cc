#include "harness/resume/opened_results.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/host/system_description.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/same_configuration.h"

namespace strata::harness {
namespace {

// Opens the results on the first rank.
class Opening {
 public:
  Opening(const config::RunConfig& config, ResultTree tree, ExistingResults existing,
          const std::string& system_description, const Say& say)
      : config_(config),
        tree_(std::move(tree)),
        existing_(existing),
        description_(system_description),
        say_(say) {}

  OpenedResults run() {
    find_tree();
    prepare_result_tree(tree_);
    OpenedResults opened{.lock = OutputLock(tree_.results())};
    remove_leftovers(tree_.results());
    remove_leftovers(tree_.system_description().parent_path());
    FoundResults found = find_results(tree_, config_.run.experiments, existing_);
    if (!found.empty()) {
      opened.on_other_ranks = check_system();
      check_configurations(found, opened.on_other_ranks);
      if (opened.on_other_ranks) check_none_begins(found);
    }
    for (const ExperimentResult& result : found.results) {
      if (tidy_ended(result.experiment)) opened.lacking_weights.push_back(result.experiment);
    }
    for (const int experiment : found.not_begun) {
      const auto archived = archive(tree_, experiment);
      say_(
          fmt::format("result_{}: its run was killed before it began; it starts again, and the old "
                      "log is now {}",
                      experiment, archived.string()));
    }
    for (const int experiment : found.without_log) {
      const auto archived = archive(tree_, experiment);
      say_(fmt::format("result_{}: its log is missing; its other files now end in .interrupted{}",
                       experiment, archived.extension().string()));
    }
    for (const int experiment : found.interrupted) {
      if (resumes() && can_be_resumed(tree_, experiment)) {
        refuse_links(tree_, experiment);
        opened.interrupted.push_back(experiment);
      } else {
        archive_interrupted(tree_, experiment, say_);
      }
    }
    if (found.empty()) write_system_description();
    opened.ended = std::move(found.results);
    opened.tree = std::move(tree_);
    return opened;
  }

 private:
  bool resumes() const { return existing_ == ExistingResults::kResume; }

  // Returns whether an ended run has not written its weights, but a checkpoint can give them.
  bool lacks_weights(const ResultTree& tree, int experiment) const {
    return config_.log.save_checkpoint && !exists_or_is_link(tree.checkpoint(experiment)) &&
           can_be_resumed(tree, experiment);
  }

  // Returns whether --resume continues one of the experiments, or writes its weights.
  bool any_goes_on(const ResultTree& tree, const FoundResults& found) const {
    return std::ranges::any_of(found.interrupted,
                               [&](int experiment) { return can_be_resumed(tree, experiment); }) ||
           std::ranges::any_of(found.results, [&](const ExperimentResult& result) {
             return lacks_weights(tree, result.experiment);
           });
  }

  // Switches to the tree of a system that differs only in the number of ranks, if this run resumes
  // its experiments.
  void find_tree() {
    if (existing_ == ExistingResults::kRefuse ||
        !find_results(tree_, config_.run.experiments, existing_).empty()) {
      return;
    }
    const std::optional<std::string> other = system_on_other_ranks();
    if (other && !resumes()) {
      fail(
          "{}: holds results of another number of ranks, and this run would begin a second system, "
          "{}, beside it; start as many ranks as before, or choose another run.output",
          (tree_.results().parent_path().parent_path() / *other).string(), tree_.system);
    }
    if (other) tree_.system = *other;
  }

  // Returns a system with results whose name differs from this one's only in the number of ranks.
  // --resume requires an experiment that is resumable or lacks weights: see any_goes_on().
  std::optional<std::string> system_on_other_ranks() const {
    const std::filesystem::path systems = tree_.results().parent_path().parent_path();
    if (!std::filesystem::is_directory(systems)) return std::nullopt;
    for (const auto& other : list_directory(systems)) {
      const ResultTree theirs{tree_.output, tree_.organization, other.filename().string()};
      if (!differ_in_ranks_only(theirs.system, tree_.system)) continue;
      const FoundResults found = find_results(theirs, config_.run.experiments, existing_);
      if (resumes() ? any_goes_on(theirs, found) : !found.empty()) return theirs.system;
    }
    return std::nullopt;
  }

  // All results in a folder must be of one system. Returns whether this run resumes them on another
  // number of ranks.
  bool check_system() const {
    const std::string described = read_file(tree_.system_description());
    if (resumes() && describe_other_ranks(described, description_)) return true;
    if (describe_same_system(described, description_)) return false;
    refuse_description(described, "restore it", "Continue on the same ranks and machines");
  }

  // Refuses the text of the description of another system, or of none.
  [[noreturn]] void refuse_description(const std::string& theirs, std::string_view if_damaged,
                                       std::string_view if_different) const {
    const std::string path = tree_.system_description().string();
    const std::vector<std::string> differing = differing_fields(theirs, description_);
    if (differing.empty()) {
      fail("{}: is not a JSON object; {}, or choose another run.output", path, if_damaged);
    }
    fail("{}: describes another system; these fields differ: {}. {}, or choose another run.output",
         path, fmt::join(differing, ", "), if_different);
  }

  // All results in a folder must have one configuration.
  void check_configurations(const FoundResults& found, bool on_other_ranks) const {
    std::vector<int> experiments;  // without archived ones, which may differ
    if (resumes()) experiments = found.interrupted;
    for (const ExperimentResult& result : found.results) experiments.push_back(result.experiment);
    for (const int experiment : experiments) {
      const std::filesystem::path theirs = tree_.config(experiment);
      if (!std::filesystem::exists(theirs)) continue;
      const bool by_checkpoint = resumes() && (std::ranges::count(found.interrupted, experiment) > 0
                                                   ? can_be_resumed(tree_, experiment)
                                                   : lacks_weights(tree_, experiment));
      const std::vector<std::string> differing = configuration_differences(
          config::load_resolved_config(theirs), config_, {on_other_ranks, by_checkpoint});
      if (differing.empty()) continue;
      fail(
          "{}: differs from this run's configuration ({}); give the same configuration, or choose "
          "another run.output",
          theirs.string(), fmt::join(differing, "; "));
    }
  }

  // Resumed runs may use another number of ranks. New runs may not, because their results would be
  // of another system than the results beside them.
  void check_none_begins(const FoundResults& found) const {
    for (int experiment = 0; experiment < config_.run.experiments; ++experiment) {
      const bool ended = std::ranges::any_of(
          found.results, [&](const auto& result) { return result.experiment == experiment; });
      if (ended || can_be_resumed(tree_, experiment)) continue;
      fail(
          "{}: result_{} has no checkpoint, so its run would start again, but on another number of "
          "ranks than the other runs; give fewer --experiments, or start as many ranks as the "
          "other runs had",
          tree_.results().string(), experiment);
    }
  }

  // Removes the checkpoints that an ended run has left, unless its weights are missing. Returns
  // whether this run writes the missing weights.
  bool tidy_ended(int experiment) const {
    std::error_code ignored;
    if (!std::filesystem::exists(tree_.checkpoints(experiment), ignored)) return false;
    if (!lacks_weights(tree_, experiment)) {
      say_(
          fmt::format("result_{}: was stopped after its run had ended; its checkpoints are removed",
                      experiment));
      std::filesystem::remove_all(tree_.checkpoints(experiment), ignored);
      return false;
    }
    if (!resumes()) {
      say_(
          fmt::format("result_{}: its weights are missing; --resume writes them from its last "
                      "checkpoint, which is kept",
                      experiment));
    }
    return resumes();
  }

  // An existing description stays if it is of this system, because somebody may have added to it.
  void write_system_description() const {
    const std::filesystem::path path = tree_.system_description();
    if (!exists_or_is_link(path)) return write_file_atomically(path, description_);
    const std::string theirs = read_file(path);
    if (describe_same_system(theirs, description_)) return;
    refuse_description(theirs, "move it away", "Move the file away");
  }

  const config::RunConfig& config_;
  ResultTree tree_;
  const ExistingResults existing_;
  const std::string& description_;
  const Say& say_;
};

}  // namespace

OpenedResults open_results(const config::RunConfig& config, ResultTree tree,
                           ExistingResults existing, const std::string& system_description,
                           Communicator& ranks, const Say& say) {
  OpenedResults opened;
  if (ranks.first()) {
    opened = Opening(config, std::move(tree), existing, system_description, say).run();
  } else {
    opened.tree = std::move(tree);
  }
  ranks.share(opened.tree.system);
  ranks.share(opened.interrupted);
  ranks.share(opened.lacking_weights);
  ranks.share(opened.on_other_ranks);
  size_t ended = opened.ended.size();
  ranks.share(ended);
  opened.ended.resize(ended);
  for (ExperimentResult& result : opened.ended) {
    ranks.share(result.experiment);
    ranks.share(result.reached_target);
  }
  return opened;
}

bool can_be_resumed(const ResultTree& tree, int experiment) {
  return !checkpoint_steps(tree.checkpoints(experiment)).empty();
}

void archive_interrupted(const ResultTree& tree, int experiment, const Say& say) {
  const auto archived = archive(tree, experiment);
  say(fmt::format("result_{}: its run was interrupted; the log is now {}", experiment,
                  archived.string()));
}

}  // namespace strata::harness
