// The values that rule code works on: a small, bounded subset of Python's objects.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::compliance {

// Stands for a Python exception: the fragment stops, and the check it belongs to has failed.
class RuleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The rule code asked for more steps or memory than a rule may use: the whole check stops.
class RuleBudgetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Heap;
struct Object;
struct Str;
struct List;
struct Dict;
struct Line;

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kFunction,   // a builtin, by its number
  kModule,     // a builtin module, by its number
  kType,       // a type object, by its number
  kEventList,  // `loglines`
  // On the heap:
  kBigInt,  // a Str with the decimal digits, for integers that do not fit in 64 bits
  kStr,
  kList,
  kTuple,
  kSet,
  kDict,
  kLine,
};

struct Object {
  Heap* heap = nullptr;  // null for constants of a compiled rule, which live as long as the rule
  Object* previous = nullptr;
  Object* next = nullptr;
  uint32_t references = 0;
  Kind kind = Kind::kNone;
};

// A reference to a value. Copying shares lists and dictionaries, as in Python. Not for use by two
// threads at once, except for constants.
class Value {
 public:
  Value() : bits_{} {}
  Value(const Value& other) : kind_(other.kind_), bits_(other.bits_) { retain(); }
  Value(Value&& other) noexcept : kind_(other.kind_), bits_(other.bits_) {
    other.kind_ = Kind::kNone;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~Value() { release(); }

  static Value of_bool(bool value) { return Value(Kind::kBool, Bits{.integer = value ? 1 : 0}); }
  static Value of_int(int64_t value) { return Value(Kind::kInt, Bits{.integer = value}); }
  static Value of_float(double value) { return Value(Kind::kFloat, Bits{.real = value}); }
  static Value of_id(Kind kind, int id) { return Value(kind, Bits{.integer = id}); }
  static Value of_object(Object* object) {
    Value value(object->kind, Bits{.object = object});
    value.retain();
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ >= Kind::kBigInt; }
  bool is_number() const {
    return kind_ == Kind::kBool || kind_ == Kind::kInt || kind_ == Kind::kFloat ||
           kind_ == Kind::kBigInt;
  }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool boolean() const { return bits_.integer != 0; }
  int64_t integer() const { return bits_.integer; }
  double real() const { return bits_.real; }
  const std::string& text() const;    // kStr and kBigInt
  std::vector<Value>& items() const;  // kList and kTuple
  Dict& dict() const;                 // kDict and kSet
  Line& line() const;
  Object* object() const { return bits_.object; }

 private:
  union Bits {
    int64_t integer;
    double real;
    Object* object;
  };
  Value(Kind kind, Bits bits) : kind_(kind), bits_(bits) {}
  void retain() const {
    if (is_object() && bits_.object->heap != nullptr) ++bits_.object->references;
  }
  void release();

  Kind kind_ = Kind::kNone;
  Bits bits_;
};

struct Str : Object {
  std::string text;
};

struct List : Object {
  std::vector<Value> items;
};

// Insertion-ordered; also a set, whose values are unused. Keys are compared as Python does (1
// == 1.0 == True).
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;

  // Null where absent. The work is the heap's. Throws RuleError where `key` is not hashable.
  Value* find(const Value& key);
  // The entry's value, added where absent.
  Value& insert(const Value& key);
  void clear();
  Value* find(std::string_view key);

  static constexpr size_t kIndexFrom = 12;  // fewer entries are searched one by one

 private:
  bool is_text(const Value& name, std::string_view key) const;

  std::unordered_multimap<size_t, uint32_t> index_;
};

// An event as rule code sees it: `ll`, or an element of `loglines`.
struct Line : Object {
  std::string key;
  std::string full_string;
  double timestamp = 0;
  int64_t lineno = 0;
  Value value;
};

// Owns the heap objects of one check and bounds their memory, and the work done with them. Objects
// must not outlive it.
class Heap {
 public:
  explicit Heap(size_t limit_bytes = 256u << 20, uint64_t limit_steps = UINT64_MAX)
      : limit_(limit_bytes), steps_left_(limit_steps) {
    // Values that die are kept here, and that must not need memory.
    spare_strings_.reserve(kMaxSpare);
    spare_dicts_.reserve(kMaxSpare);
  }
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  Value str(std::string_view text);
  Value big_int(std::string digits);
  Value list(Kind kind = Kind::kList);
  Value dict(Kind kind = Kind::kDict);
  Value line();

  // Counts memory that objects grow by; throws RuleBudgetError beyond the limit. The count only
  // falls when an object dies.
  void charge(size_t bytes);
  size_t used() const { return used_; }

  // Counts work; throws RuleBudgetError beyond the limit.
  void spend(uint64_t steps) {
    if (steps > steps_left_) throw_out_of_steps();
    steps_left_ -= steps;
  }
  // The work of reading so many bytes of text.
  void spend_text(size_t bytes) { spend(bytes / kBytesPerStep); }

 private:
  friend class Value;
  static constexpr size_t kBytesPerStep = 16;
  [[noreturn]] static void throw_out_of_steps();
  template <typename T>
  T* create(Kind kind, size_t bytes);
  void add(Object* object);
  void remove(Object* object);
  static void destroy(Object* object);
  // Keeps a dead object for its next use; false where it is not worth keeping.
  bool recycle(Object* object);

  static constexpr size_t kMaxSpare = 64;
  std::vector<Str*> spare_strings_;
  std::vector<Dict*> spare_dicts_;
  Object* first_ = nullptr;
  Object* dying_ = nullptr;  // the last to have lost its references; chained by `next`
  bool draining_ = false;
  bool ending_ = false;
  size_t limit_;
  size_t used_ = 0;
  uint64_t steps_left_;
};

// Strings that live as long as a compiled rule; shared by threads.
Str* make_constant_string(std::string text);
void free_constant_string(Str* string);

// Throws RuleError for values nested too deeply for ==, hash() and str().
void check_depth(int depth);

// Python's ==. Its work is `heap`'s: two lists may hold one another's parts many times over. Throws
// RuleError where nested too deeply.
bool equal(const Value& a, const Value& b, Heap& heap);
// Python's ordering of a and b: -1, 0, 1, or 2 where a NaN makes them unordered. Throws RuleError
// where not comparable.
int compare(const Value& a, const Value& b, Heap& heap);
bool truthy(const Value& value);
// Python's str() and repr(). Output beyond `limit` bytes is cut off with "...".
std::string to_str(const Value& value, size_t limit = 1u << 20);
std::string to_repr(const Value& value, size_t limit = 1u << 20);
std::string_view type_name(const Value& value);
// The nearest double of any number. Throws RuleError for other kinds, naming `what`.
double to_double(const Value& value, std::string_view what);
// The decimal digits of an integer, after a minus if it is negative.
std::string integer_digits(const Value& integer);
// Counts the work of reading a number's digits, which only integers beyond 64 bits keep as text.
void spend_digits(const Value& number, Heap& heap);
size_t code_points(std::string_view utf8);

// A validated JSON text as a value on `heap`.
Value value_from_json(std::string_view json, Heap& heap);

}  // namespace strata::compliance
