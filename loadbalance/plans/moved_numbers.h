// A shuffled order (a deck) of the numbers below `count`, kept as the few that have moved. A place
// here is a position in the deck, not a sample's place in data::SampleIndex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace strata::loadbalance {

// Number i is at place i until it is moved. Places are taken one after the other, from 0 on, while
// numbers move among those that are left. A hash table with linear probing whose slots are in order
// of place, so that only moves reach all over memory. It grows a few entries at a time: no call
// waits for all of it.
class MovedNumbers {
 public:
  // For the places below `count`.
  explicit MovedNumbers(uint32_t count);

  // Returns the number at the first place that is not taken yet, and takes the place.
  uint32_t take();
  // Returns the number at `place`, which is not taken yet, and puts `number` there.
  uint32_t exchange(uint32_t place, uint32_t number);
  // Fetches what an exchange at `place` will read.
  void prefetch(uint32_t place) const;

  size_t size() const { return size_; }  // numbers that are not at their own place

 private:
  struct Free {
    void operator()(uint64_t* memory) const { std::free(memory); }
  };
  // Slots of a place from 1 in the upper half and a number in the lower; 0: empty. Zero pages are
  // an empty table.
  struct Table {
    std::unique_ptr<uint64_t[], Free> slots;
    size_t mask = 0;     // number of slots - 1
    uint32_t first = 0;  // the first place that has a slot
    uint64_t scale = 0;  // slots a place, in units of 2^-32

    size_t capacity() const { return mask + 1; }
    size_t home(uint32_t place) const { return (place - first) * scale >> 32; }
    // The slot of `place`, or the empty one where it would stand.
    size_t find(uint32_t place) const;
    void erase(size_t slot);
  };
  Table make_table(size_t capacity) const;
  bool is_full() const;
  void grow();
  void move_some();

  uint32_t count_, next_ = 0;  // of the places; the first that is not taken
  Table table_, old_;          // old_: what table_ replaces, until all entries have moved
  size_t moved_ = 0;           // slots [0, moved_) of old_ have been emptied into table_
  bool wrapped_ = false;       // table_ may have an entry whose home in old_ is at moved_ or beyond
  size_t size_ = 0;            // entries of both
};

}  // namespace strata::loadbalance
