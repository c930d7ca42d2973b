#include <algorithm>
#include <exception>
#include <utility>

#include "base/timing.h"
#include "comm/order/executor.h"

namespace strata::comm {
namespace {

using device::Stream;

Stream stream_of(Lane lane) { return is_callers(lane) ? Stream::kCompute : Stream::kReduce; }

class StreamExecutor final : public Executor {
 public:
  explicit StreamExecutor(device::Backend& backend) : backend_(backend) {}

  void begin(const OperationList& list) override {
    list_ = &list;
    events_.resize(std::max(events_.size(), static_cast<size_t>(list.size())));
    completed_.assign(static_cast<size_t>(list.size()), false);
    next_ = 0;
  }

  void run(int first, int end) override {
    for (int place = first; place < end;) {
      int behind = place + 1;
      const bool captured = (*list_)[place].may_be_captured;
      while (behind < end && (*list_)[behind].may_be_captured == captured) ++behind;
      captured ? issue(place, behind)
               : backend_.outside_capture([this, place, behind] { issue(place, behind); });
      place = behind;
    }
  }

  // finish() rethrows errors.
  void complete(int operation) override {
    const auto issue_next = [this, operation] {
      if (error_) return;
      try {
        completed_[static_cast<size_t>(operation)] = true;
        issue_completed();
      } catch (...) {
        error_ = std::current_exception();
      }
    };
    (*list_)[operation].may_be_captured ? issue_next() : backend_.outside_capture(issue_next);
  }

  void wait_for(int operation) override {
    if (!error_) backend_.wait(Stream::kCompute, events_[static_cast<size_t>(operation)]);
  }

  StepTimes finish() override {
    if (error_) std::rethrow_exception(error_);
    return timed_ ? read_times() : StepTimes();
  }

  void time_steps(bool on) override {
    timed_ = on;
    if (on && !stopwatch_) stopwatch_ = backend_.make_stopwatch();
  }
  const std::vector<OperationTime>& times() const override { return times_; }

 private:
  // A timed operation with the stopwatch's marks before and after it.
  struct Marked {
    int operation;
    size_t begin, end;
  };

  // Issues operations up to the next incomplete external one. Begins the list again after its last
  // operation, because the launch of a captured graph may repeat complete(), but not begin().
  void issue_completed() {
    int end = next_;
    const auto may_issue = [&](int place) {
      return (*list_)[place].run || completed_[static_cast<size_t>(place)];
    };
    while (end < list_->size() && may_issue(end)) ++end;
    issue(std::exchange(next_, end), end);
    if (next_ == list_->size()) begin(*list_);
  }

  void issue(int first, int end) {
    compute_point_place_ = -1;  // an event recorded during capture cannot be waited for outside it
    for (int place = first; place < end; ++place) issue(place);
    const bool has_other_lanes =
        !list_->lane(Lane::kArithmetic).empty() || !list_->lane(Lane::kGathers).empty();
    if (end == list_->size() && has_other_lanes) {
      backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
    }
    compute_point_place_ = -1;
  }

  void issue(int place) {
    const Operation& operation = (*list_)[place];
    const Stream stream = stream_of(operation.lane);
    if (operation.after.empty() && stream != Stream::kCompute) {
      backend_.wait(stream, backend_.record(Stream::kCompute));  // wait for the previous step
    }
    for (const int before : operation.after) {
      if (stream_of((*list_)[before].lane) != stream) backend_.wait(stream, event(before, place));
    }
    if (timed_ && place == list_->end_of_backward()) {
      backward_end_ = stopwatch_->mark(Stream::kCompute);
    }
    const bool marks = timed_ && is_timed(operation);
    const size_t begin = marks ? stopwatch_->mark(stream) : 0;
    if (operation.run) operation.run();
    if (marks) marked_.push_back({place, begin, stopwatch_->mark(stream)});
    if (stream == Stream::kReduce && list_->crosses_lanes(place)) {
      events_[static_cast<size_t>(place)] = backend_.record(stream);
    }
  }

  // Returns an event that completes with `operation`, for the operation at `place` to wait for.
  // Events on the compute stream are recorded on demand.
  device::Event event(int operation, int place) {
    if (stream_of((*list_)[operation].lane) == Stream::kReduce) {
      return events_[static_cast<size_t>(operation)];
    }
    if (compute_point_place_ <= operation) {
      compute_point_ = backend_.record(Stream::kCompute);
      compute_point_place_ = place;
    }
    return compute_point_;
  }

  StepTimes read_times() {
    const size_t end = stopwatch_->mark(Stream::kCompute);
    const std::vector<int64_t> times = stopwatch_->read();
    times_.clear();
    for (const Marked& marked : marked_) {
      const Operation& operation = (*list_)[marked.operation];
      times_.push_back({operation.kind, operation.object, operation.lane, times[marked.begin],
                        times[marked.end]});
    }
    marked_.clear();
    std::ranges::stable_sort(times_, {}, &OperationTime::end_ns);
    return step_times(times_, times[backward_end_], times[end]);
  }

  device::Backend& backend_;
  const OperationList* list_ = nullptr;
  std::vector<device::Event> events_;  // [operations] for those on Stream::kReduce
  device::Event compute_point_ = 0;
  int compute_point_place_ = -1;  // compute_point_ follows all operations before this index
  std::vector<bool> completed_;   // [operations] external operations done in this step
  int next_ = 0;                  // next operation to issue, if the list has external ones
  std::exception_ptr error_;
  bool timed_ = false;
  std::unique_ptr<device::Stopwatch> stopwatch_;  // null until a step is timed
  size_t backward_end_ = 0;
  std::vector<Marked> marked_;  // timed operations of this step
  std::vector<OperationTime> times_;
};

}  // namespace

std::unique_ptr<Executor> make_executor(device::Backend& backend) {
  return backend.memory_is_host() ? make_thread_executor(backend) : make_stream_executor(backend);
}

std::unique_ptr<Executor> make_stream_executor(device::Backend& backend) {
  return std::make_unique<StreamExecutor>(backend);
}

}  // namespace strata::comm
