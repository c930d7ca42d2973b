#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "compliance/language/values/rule_value.h"

namespace strata::compliance {

Heap::~Heap() {
  // Cycles are broken first: what a container held is let go while every object still exists.
  ending_ = true;
  for (Object* object = first_; object != nullptr; object = object->next) {
    if (object->kind == Kind::kList || object->kind == Kind::kTuple)
      static_cast<List*>(object)->items.clear();
    if (object->kind == Kind::kDict || object->kind == Kind::kSet)
      static_cast<Dict*>(object)->entries.clear();
    if (object->kind == Kind::kLine) static_cast<Line*>(object)->value = Value();
  }
  for (Object* object = first_; object != nullptr;) {
    Object* next = object->next;
    destroy(object);
    object = next;
  }
  for (Str* string : spare_strings_) delete string;
  for (Dict* dict : spare_dicts_) delete dict;
}

void Heap::charge(size_t bytes) {
  used_ += bytes;
  if (used_ > limit_) {
    throw RuleBudgetError(fmt::format("the rules use more than {} MB of memory", limit_ >> 20));
  }
}

void Heap::throw_out_of_steps() { throw RuleBudgetError("the rules take too many steps"); }

template <typename T>
T* Heap::create(Kind kind, size_t bytes) {
  charge(sizeof(T) + bytes);
  T* object = nullptr;
  if constexpr (std::is_same_v<T, Str>) {
    if (!spare_strings_.empty()) {
      object = spare_strings_.back();
      spare_strings_.pop_back();
    }
  } else if constexpr (std::is_same_v<T, Dict>) {
    if (!spare_dicts_.empty()) {
      object = spare_dicts_.back();
      spare_dicts_.pop_back();
    }
  }
  if (object == nullptr) object = new T;
  object->kind = kind;
  add(object);
  return object;
}

void Heap::add(Object* object) {
  object->heap = this;
  object->next = first_;
  if (first_ != nullptr) first_->previous = object;
  first_ = object;
}

// An object without references dies, and with it what only it held; a work list, not recursion, so
// that depth is no risk, and without memory of its own: an object also dies where there is none
// left.
void Heap::remove(Object* object) {
  if (ending_) return;
  (object->previous != nullptr ? object->previous->next : first_) = object->next;
  if (object->next != nullptr) object->next->previous = object->previous;
  object->previous = nullptr;
  object->next = dying_;
  dying_ = object;
  if (draining_) return;
  draining_ = true;
  while (dying_ != nullptr) {
    Object* dead = dying_;
    dying_ = dead->next;
    size_t bytes = sizeof(Str);
    if (dead->kind == Kind::kStr || dead->kind == Kind::kBigInt) {
      bytes = sizeof(Str) + static_cast<Str*>(dead)->text.size();
    } else if (dead->kind == Kind::kList || dead->kind == Kind::kTuple) {
      bytes = sizeof(List) + static_cast<List*>(dead)->items.size() * sizeof(Value);
    } else if (dead->kind == Kind::kDict || dead->kind == Kind::kSet) {
      bytes = sizeof(Dict) + static_cast<Dict*>(dead)->entries.size() * (2 * sizeof(Value) + 48);
    } else if (dead->kind == Kind::kLine) {
      bytes = sizeof(Line);
    }
    used_ -= std::min(used_, bytes);
    if (!recycle(dead)) destroy(dead);
  }
  draining_ = false;
}

bool Heap::recycle(Object* object) {
  constexpr size_t kSmallText = 256;
  if (object->kind == Kind::kStr || object->kind == Kind::kBigInt) {
    Str* string = static_cast<Str*>(object);
    if (spare_strings_.size() >= kMaxSpare || string->text.capacity() > kSmallText) return false;
    string->previous = string->next = nullptr;
    spare_strings_.push_back(string);
    return true;
  }
  if (object->kind == Kind::kDict || object->kind == Kind::kSet) {
    Dict* dict = static_cast<Dict*>(object);
    if (spare_dicts_.size() >= kMaxSpare || dict->entries.size() >= Dict::kIndexFrom) return false;
    dict->clear();
    dict->previous = dict->next = nullptr;
    spare_dicts_.push_back(dict);
    return true;
  }
  return false;
}

void Heap::destroy(Object* object) {
  switch (object->kind) {
    case Kind::kBigInt:
    case Kind::kStr:
      delete static_cast<Str*>(object);
      break;
    case Kind::kList:
    case Kind::kTuple:
      delete static_cast<List*>(object);
      break;
    case Kind::kSet:
    case Kind::kDict:
      delete static_cast<Dict*>(object);
      break;
    default:
      delete static_cast<Line*>(object);
      break;
  }
}

Value Heap::str(std::string_view text) {
  Str* object = create<Str>(Kind::kStr, text.size());
  object->text = text;
  return Value::of_object(object);
}

Value Heap::big_int(std::string digits) {
  Str* object = create<Str>(Kind::kBigInt, digits.size());
  object->text = std::move(digits);
  return Value::of_object(object);
}

Value Heap::list(Kind kind) { return Value::of_object(create<List>(kind, 0)); }
Value Heap::dict(Kind kind) { return Value::of_object(create<Dict>(kind, 0)); }
Value Heap::line() { return Value::of_object(create<Line>(Kind::kLine, 0)); }

Str* make_constant_string(std::string text) {
  Str* string = new Str;
  string->kind = Kind::kStr;
  string->text = std::move(text);
  return string;
}

void free_constant_string(Str* string) { delete string; }

}  // namespace strata::compliance
