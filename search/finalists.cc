#include "search/finalists.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/numbers/statistics.h"
#include "base/numbers/students_t.h"
#include "base/timing.h"
#include "compliance/checks/rcp.h"
#include "search/successive_halving.h"

namespace strata::search {
namespace {

constexpr size_t kFewestForOlympic = 5;

struct Sample {
  std::vector<double> costs;  // costs of the runs that reached the target, rising

  double count() const { return static_cast<double>(costs.size()); }
  double mean() const { return sum(costs) / count(); }
  double stddev() const {
    double squares = 0;
    for (const double cost : costs) squares += (cost - mean()) * (cost - mean());
    return std::sqrt(squares / (count() - 1));
  }
};

std::optional<double> interval_of(const Sample& sample) {
  if (sample.costs.size() < 2) return std::nullopt;
  return students_t_quantile(0.975, sample.count() - 1) * sample.stddev() /
         std::sqrt(sample.count());
}

}  // namespace

std::vector<Finalist> rank_finalists(const SearchPlan& plan, const TrialLog& log) {
  std::map<int, Finalist> by_trial;
  std::map<int, Sample> samples;
  std::map<int, int> trained;  // runs that did not fail
  for (const FinishedRun* ended : ranking(plan, log, kFinals)) {
    const FinishedRun& run = *ended;
    Finalist& finalist = by_trial[run.run.trial];
    finalist.trial = run.run.trial;
    finalist.settings = run.settings;
    ++finalist.runs;
    if (run.result.ending == Ending::kFailed) continue;
    ++trained[run.run.trial];
    finalist.accuracy += run.result.accuracy;
    if (run.result.ending != Ending::kReached) continue;
    ++finalist.reached;
    samples[run.run.trial].costs.push_back(cost_of(run.result, plan.objective));
  }
  std::vector<Finalist> finalists;
  for (auto& [trial, finalist] : by_trial) {
    finalist.accuracy /= std::max(trained[trial], 1);
    Sample& sample = samples[trial];
    std::ranges::sort(sample.costs);
    if (!sample.costs.empty()) {
      finalist.mean = sample.costs.size() < kFewestForOlympic
                          ? sample.mean()
                          : compliance::olympic_mean(sample.costs, 1);
      finalist.median = median(sample.costs);
      finalist.least = sample.costs.front();
      finalist.most = sample.costs.back();
      finalist.interval = interval_of(sample);
    }
    finalists.push_back(finalist);
  }
  const Sample& base = samples[kBaseTrial];
  for (Finalist& finalist : finalists) {
    const Sample& own = samples[finalist.trial];
    if (finalist.trial == kBaseTrial || own.costs.size() < 2 || base.costs.size() < 2) continue;
    const double p = compliance::one_sided_p_value(own.mean(), own.stddev(), own.count(),
                                                   base.mean(), base.stddev(), base.count());
    if (!std::isnan(p)) finalist.p_value = p;
  }
  std::ranges::stable_sort(finalists, [](const Finalist& a, const Finalist& b) {
    return std::tuple(-a.reached, a.mean, -a.accuracy) <
           std::tuple(-b.reached, b.mean, -b.accuracy);
  });
  return finalists;
}

}  // namespace strata::search
