#include "training/step/step_executor.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace strata::training {
namespace {

// Returns whether both segments have the same operations, whichever micro-batch they belong to.
bool same_work(const comm::OperationList& list, const GraphSegment& a, const GraphSegment& b) {
  if (a.end - a.first != b.end - b.first) return false;
  for (int i = 0; i < a.end - a.first; ++i) {
    const comm::Operation &x = list[a.first + i], &y = list[b.first + i];
    if (x.kind != y.kind || x.object != y.object) return false;
  }
  return true;
}

}  // namespace

StepExecutor::StepExecutor(StepWork& work, comm::GradientBuckets& buckets,
                           std::unique_ptr<device::GraphCache> graphs)
    : work_(work),
      buckets_(buckets),
      graphs_(std::move(graphs)),
      run_task_([this](const Task& task) { work_.run(task, buckets_.work()); }) {
  lists_.push_back(make_list(work.schedule(), 0));
  if (work.delayed()) {
    const Schedule& delayed = work.delayed()->schedule;
    for (int step = 1; step <= most_delay(delayed) + 1; ++step) {
      lists_.push_back(make_list(delayed, step));
    }
  }
  list_ = &lists_.front();
  if (graphs_) check_captures();
}

StepList StepExecutor::make_list(const Schedule& schedule, int delay_step) {
  const bert::Model& model = work_.model();
  const StepPlan plan =
      make_step_plan(schedule, model.layout(), static_cast<bool>(model.sparse_word_gradient()),
                     model.has_half_layers(), model.parameters().shards_gradients());
  names_ = plan.names;
  return make_step_list(plan, buckets_.plan(), &buckets_.work(), &run_task_, delay_step);
}

void StepExecutor::check_captures() const {
  const std::string& name = work_.schedule().name;
  if (work_.delayed())
    fail("schedule {}: graphs of delayed steps cannot be captured; set device.graphs to false",
         work_.delayed()->schedule.name);
  if (work_.model().parameters().shards_gradients()) {
    fail(
        "schedule {}: blocks share memory, so graphs cannot be captured; set device.graphs to "
        "false",
        name);
  }
  // The update waits for reductions that a ready block begins, so one graph must capture both.
  const comm::OperationList& operations = list_->operations;
  for (int place = 0; place < segments().back().first; ++place) {
    if (operations[place].kind != Task::Kind::kReady) continue;
    fail(
        "schedule {}: block {} is ready before the last graph segment, so graphs cannot be "
        "captured; set device.graphs to false",
        name, operations[place].object);
  }
}

std::vector<Range> StepExecutor::begin_step(int64_t step) {
  const int64_t undelayed = work_.delayed() ? work_.delayed()->after_steps : step;
  const int64_t delay_step = std::max<int64_t>(step - undelayed, 0);
  work_.begin_step(delay_step);
  list_ = &lists_[static_cast<size_t>(std::min<int64_t>(delay_step, std::ssize(lists_) - 1))];
  buckets_.executor().begin(list_->operations);
  std::vector<Range> frozen;
  for (const int block : list_->frozen) {
    const bert::Model& model = work_.model();
    frozen.push_back(model.untied(*model.blocks()[static_cast<size_t>(block)]));
  }
  return frozen;
}

void StepExecutor::issue_operations(const GraphSegment& segment, ComputeTimes* times) {
  work_.time(times);
  buckets_.executor().run(segment.first, segment.end);
}

comm::StepTimes StepExecutor::finish(const GraphSegment& segment) {
  const bool is_last = segment.end == list_->operations.size();
  return is_last ? buckets_.executor().finish() : comm::StepTimes();
}

comm::StepTimes StepExecutor::issue(const GraphSegment& segment, ComputeTimes* times) {
  issue_operations(segment, times);
  return finish(segment);
}

comm::StepTimes StepExecutor::run(const GraphSegment& segment, ComputeTimes* times) {
  if (!graphs_ || times) return issue(segment, times);
  graphs_->run(graph_key(segment), [&] { issue_operations(segment, nullptr); });
  return finish(segment);
}

bool StepExecutor::capture(const GraphSegment& segment) {
  return graphs_->capture(graph_key(segment), [&] { issue_operations(segment, nullptr); });
}

// The key covers everything that determines the issued work: the micro-batch's shape, the
// activations' memory and the operations.
device::GraphCache::Key StepExecutor::graph_key(const GraphSegment& segment) {
  const bert::Model::Shape shape = work_.model().shape(work_.micro_batch(segment.micro_batch));
  device::GraphCache::Key key(shape.begin(), shape.end());
  key.push_back(segment.micro_batch % work_.schedule().in_flight);
  const auto alike = std::ranges::find_if(segments(), [&](const GraphSegment& other) {
    return same_work(list_->operations, other, segment);
  });
  key.push_back(alike - segments().begin());
  return key;
}

}  // namespace strata::training
