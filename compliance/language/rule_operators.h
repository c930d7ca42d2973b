// The operators of rule code, as Python has them. Their work is the heap's.
#pragma once

#include "compliance/language/parser/rule_tree.h"

namespace strata::compliance {

// left op right, of any values. Throws RuleError if Python would throw.
Value apply(BinaryOperator op, const Value& left, const Value& right, Heap& heap);
// The same of numbers. Integers are exact to 64 bits; another result beyond that is the nearest
// float.
Value calculate(BinaryOperator op, const Value& left, const Value& right, Heap& heap);
// Whether a comparison holds. Throws RuleError if the values cannot be compared.
bool holds(Comparison op, const Value& left, const Value& right, Heap& heap);

}  // namespace strata::compliance
