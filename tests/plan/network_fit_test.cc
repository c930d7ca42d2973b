#include "plan/network_fit.h"

#include <string>
#include <vector>

#include "plan/published/series.h"
#include "tests/compliance/published.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using ::strata::testing::published_round;

Network a100_cards() { return {.domain = 8, .cards = 8, .card = {5e-6, 25e9}}; }

// Returns steps of 3 ms per sample and 20 ms per step. On several nodes a step takes 2 ms more,
// plus the communication that `network` exposes.
std::vector<MeasuredStep> steps_on(const Network& network) {
  std::vector<MeasuredStep> steps;
  for (const auto& [nodes, samples] : {std::pair(1, 48.0), {8, 48.0}, {16, 8.0}, {128, 4.0}}) {
    MeasuredStep step{.name = "made", .ranks = 8 * nodes, .nodes = nodes};
    step.batch = samples * static_cast<double>(step.ranks);
    step.seconds = 3e-3 * samples + 20e-3;
    Calibration calibration;
    calibration.ranks_per_node = 8;
    calibration.costs = {.per_sample = 3e-3, .per_step = 20e-3, .between_nodes = 2e-3};
    const StepInput input{.ranks = step.ranks, .batch = step.batch, .network = network};
    step.seconds = predict_step(calibration, {}, input).total();
    steps.push_back(step);
  }
  return steps;
}

Planner planner_for(const std::vector<MeasuredStep>& steps, const Network& network) {
  Planner planner;
  planner.measured = steps;
  planner.calibration = calibrate(steps);
  planner.ranks_per_node = 8;
  planner.network = network;
  fit_beside_network(planner);
  return planner;
}

std::string notes_of(const Planner& planner) {
  std::string text;
  for (const std::string& note : planner.calibration.notes) text += note + '\n';
  return text;
}

TEST(NetworkFit, UnexplainedTimeBetweenNodesIsKept) {
  const Planner planner = planner_for(steps_on(a100_cards()), a100_cards());
  const StepCosts& costs = planner.calibration.costs;
  EXPECT_NEAR(costs.per_sample, 3e-3, 1e-5);
  EXPECT_NEAR(costs.per_step, 20e-3, 1e-4);
  EXPECT_NEAR(costs.between_nodes, 2e-3, 1e-4);
  EXPECT_THAT(notes_of(planner), HasSubstr("2.0 ms are added"));
}

TEST(NetworkFit, StepsOfOneNodeLeaveCommunicationToTheNetwork) {
  const std::vector<MeasuredStep> steps = {
      {.name = "a", .ranks = 8, .batch = 80, .seconds = 0.05},
      {.name = "b", .ranks = 8, .batch = 240, .seconds = 0.11}};
  EXPECT_EQ(calibrate(steps).notes, std::vector<std::string>{kNeedsNetwork});
  const Planner planner = planner_for(steps, a100_cards());
  EXPECT_TRUE(planner.calibration.notes.empty()) << notes_of(planner);
  EXPECT_EQ(planner.calibration.costs.between_nodes, 0);
}

TEST(NetworkFit, ANetworkSlowerThanTheStepsIsAContradiction) {
  Network slow = a100_cards();
  slow.cards = 1;
  const Planner planner = planner_for(steps_on(a100_cards()), slow);
  EXPECT_THAT(notes_of(planner), HasSubstr("--network contradicts the measurements"));
  EXPECT_THAT(notes_of(planner), HasSubstr("no times per sample and per step explain"));
  EXPECT_EQ(planner.calibration.costs.between_nodes, 0);
  EXPECT_THAT(notes_of(planner_for(steps_on(slow), slow)), Not(HasSubstr("contradicts")));
}

// NVIDIA published 0.4209 minutes for 128 nodes with eight A100 and eight HDR cards each.
TEST(NetworkFit, PredictsAPublishedSystemFromItsCards) {
  if (published_round("v2.0").empty()) GTEST_SKIP() << "no ../shared/data/published_logs";
  std::vector<PublishedSystem> systems;
  for (const char* name : {"dgxa100_ngc22.04_pytorch", "dgxa100_n8_ngc22.04_pytorch",
                           "dgxa100_n512_ngc22.04_pytorch"}) {
    systems.push_back(
        read_published_system(find_bert_folders(published_round("v2.0") / name).at(0)));
  }
  const Planner fitted = fit_published(systems, "planned");
  const Network card = a100_cards();
  Network both = card;
  both.inside = domain_presets()[0].inside;
  for (const Network& network : {card, both}) {
    Planner planner = fitted;
    planner.network = network;
    fit_beside_network(planner);
    EXPECT_THAT(notes_of(planner), Not(HasSubstr("contradicts")));
    EXPECT_NEAR(planner.predict(1024, 4096, {}).run.total / (60 * 0.4209), 1, 0.1);
    const PublishedSystem held_out = read_published_system(
        find_bert_folders(published_round("v2.0") / "dgxa100_n128_ngc22.04_pytorch").at(0));
    const CheckedSystem checked = check_system(planner, systems, held_out);
    EXPECT_NEAR(checked.step_error(), 0, 0.08);
    EXPECT_EQ(checked.prediction.step.exposed, planner.predict(1024, 4096, {}).step.exposed);
  }
  // These systems have fast domains, so a flat network with one card per rank contradicts them.
  Planner planner = fitted;
  planner.network = flat_network({5e-6, 25e9});
  fit_beside_network(planner);
  EXPECT_THAT(notes_of(planner), HasSubstr("communication for NVIDIA dgxa100_n"));
}

}  // namespace
}  // namespace strata::plan
