// Runs compiled fragments over the state of one rule file and one log.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compliance/language/builtins/rule_builtins.h"
#include "compliance/language/parser/rule_tree.h"

namespace strata::compliance {

// The code reaches through it outside its own values. Calls may be made while a fragment runs.
struct RuleHost {
  // Calls `visit` with every event of the log as a Line value.
  std::function<void(const std::function<void(const Value&)>& visit)> visit_events;
  std::function<void(std::string_view)> enqueue_config;
  std::function<void(const Value&)> append_event;
  size_t event_count = 0;
};

// Values may refer to constants of the fragments that made them, so fragments must outlive the
// heap.
class Evaluator final : private BuiltinHost {
 public:
  // Every tree node that is evaluated is a step of `heap`'s.
  Evaluator(Heap& heap, RuleHost& host);

  // The values of `v` and `ll` for the fragments that follow.
  void set_line(Value v, Value ll);
  // Both throw RuleError where Python would throw. Locals of the fragment start unset, unless
  // `keep_locals`.
  bool check(const Fragment& fragment, bool keep_locals = false);
  // The value of an expression's fragment.
  Value value_of(const Fragment& fragment, bool keep_locals = false);
  void execute(const Fragment& fragment, bool keep_locals = false);

  const Value& state() const { return state_; }
  // Returns the difference and the limit, in ms, of a check that asks whether
  // `ll.timestamp - start` is below a limit; nullopt for other checks.
  std::optional<std::pair<double, double>> time_and_limit(const Fragment& fragment);

 private:
  Heap& heap() override { return heap_; }
  void spend(size_t steps) override { heap_.spend(steps); }
  void enqueue_config(std::string_view name) override { host_.enqueue_config(name); }
  size_t event_count() override { return host_.event_count; }
  void append_event(const Value& line) override;

  void prepare_locals(const Fragment& fragment, bool keep);
  void run(const Block& block);
  void run(const ExpressionStatement& statement);
  void run(const Assignment& statement);
  void run(const If& statement);
  void run(const For& statement);
  void assign(const Expression& target, Value value);

  Value evaluate(const Expression& expression);
  Value evaluate(const Constant& node) { return node.value; }
  Value evaluate(const HostVariable& node);
  Value evaluate(const LocalVariable& node);
  Value evaluate(const Display& node);
  Value evaluate(const DictDisplay& node);
  Value evaluate(const Subscript& node);
  Value evaluate(const Attribute& node);
  Value evaluate(const Call& node);
  Value evaluate(const Unary& node);
  Value evaluate(const Binary& node);
  Value evaluate(const Logical& node);
  Value evaluate(const Compare& node);
  Value evaluate(const InConstants& node);
  Value evaluate(const Conditional& node);

  struct Local {
    bool set = false;
    Value value;
  };

  Heap& heap_;
  RuleHost& host_;
  Value state_;
  Value v_;
  Value ll_;
  std::vector<Local> locals_;
};

}  // namespace strata::compliance
