// A sparse shuffle: a shuffled order (a deck) of the numbers below `count` that stores only the
// moved numbers. A place is a position in the deck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace strata::loadbalance {

// Number i is at place i until it is moved. Places are taken in order from 0, while numbers move
// among the remaining places. The hash table uses linear probing with slots in order of place, so
// that only moves access memory at random. It grows by a few entries per call, so that no call
// waits for all of it.
class SparseShuffle {
 public:
  // For the places below `count`.
  explicit SparseShuffle(uint32_t count);

  // Takes the first remaining place and returns its number.
  uint32_t take();
  // Returns the number at `place`, which must not be taken yet, and puts `number` there.
  uint32_t exchange(uint32_t place, uint32_t number);
  // Prefetches the memory that an exchange at `place` will read.
  void prefetch(uint32_t place) const;

  size_t size() const { return size_; }  // numbers that are not at their own place

 private:
  struct Free {
    void operator()(uint64_t* memory) const { std::free(memory); }
  };
  // A slot has its place + 1 in the upper half and its number in the lower; 0 is empty. Zero pages
  // are an empty table.
  struct Table {
    std::unique_ptr<uint64_t[], Free> slots;
    size_t mask = 0;     // number of slots - 1
    uint32_t first = 0;  // first place that has a slot
    uint64_t scale = 0;  // slots per place, in units of 2^-32

    size_t capacity() const { return mask + 1; }
    size_t home(uint32_t place) const { return (place - first) * scale >> 32; }
    // Returns the slot of `place`, or the empty slot where it would be inserted.
    size_t find(uint32_t place) const;
    void erase(size_t slot);
  };
  Table make_table(size_t capacity) const;
  bool is_full() const;
  void grow();
  void move_some();

  uint32_t count_, next_ = 0;  // number of places; the first that is not taken
  Table table_, old_;          // table_ replaces old_ once all entries have moved
  size_t moved_ = 0;           // slots [0, moved_) of old_ were emptied into table_
  bool wrapped_ = false;       // table_ may have an entry whose home in old_ is moved_ or later
  size_t size_ = 0;            // entries of both tables
};

}  // namespace strata::loadbalance
