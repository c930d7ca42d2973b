// Runs any bytes as rule code, or as a file of rules. The first byte decides.
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "compliance/language/rule_evaluator.h"
#include "compliance/language/rule_file.h"
#include "compliance/language/parser/rule_parser.h"

namespace {

using namespace strata::compliance;

void run(std::string_view code, bool expression, FragmentPlace place) {
  constexpr uint64_t kSteps = 100'000;
  Fragment fragment;  // values made by the code may refer to its constants, so it outlives the heap
  Heap heap(16u << 20, kSteps);
  RuleHost host;
  host.enqueue_config = [](std::string_view) {};
  host.append_event = [](const Value&) {};
  Value line = heap.line();
  line.line().value = value_from_json(
      R"({"value": 0.7, "metadata": {"epoch_num": 3, "a": [1, {"b": "c"}]}})", heap);
  host.visit_events = [&](const std::function<void(const Value&)>& visit) { visit(line); };
  Evaluator evaluator(heap, host);
  evaluator.set_line(line.line().value, line);
  try {
    const auto locals = std::make_shared<Locals>();
    if (expression) {
      fragment = compile_expression(code, place, locals);
      to_repr(evaluator.value_of(fragment));
    } else {
      fragment = compile_statements(code, place, locals);
      evaluator.execute(fragment);
    }
    to_repr(evaluator.state());
  } catch (const SyntaxFault&) {
  } catch (const RuleError&) {
  } catch (const RuleBudgetError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      run(text, true, FragmentPlace::kLine);
      break;
    case 1:
      run(text, false, FragmentPlace::kLine);
      break;
    case 2:
      run(text, false, FragmentPlace::kBegin);
      break;
    default:
      try {
        compile_rule_file("fuzz.yaml", text, [](const std::string&) { return std::string(); });
      } catch (const strata::Error&) {
      }
  }
  return 0;
}
