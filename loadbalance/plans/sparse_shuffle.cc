#include "loadbalance/plans/sparse_shuffle.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace strata::loadbalance {
namespace {

constexpr size_t kLeastSlots = size_t{1} << 15;
// A new table is made when more than kMostTaken / 16 of the slots for remaining positions are used.
// The new table is large enough to be at most half as full. Each exchange empties kMovedACall slots
// of the old table, so meanwhile at most an eighth of its slots arrive as new entries.
constexpr size_t kMostTaken = 10;
constexpr size_t kMovedACall = 8;  // slots of the old table
// A deleted entry of the old table; searches continue beyond it.
constexpr uint64_t kGone = 1;

uint32_t place_of(uint64_t entry) { return static_cast<uint32_t>(entry >> 32) - 1; }
uint32_t number_of(uint64_t entry) { return static_cast<uint32_t>(entry); }
uint64_t entry_of(uint32_t place, uint32_t number) { return (uint64_t{place} + 1) << 32 | number; }
bool is_of(uint64_t entry, uint32_t place) { return entry >> 32 == uint64_t{place} + 1; }

}  // namespace

SparseShuffle::SparseShuffle(uint32_t count) : count_(count), table_(make_table(kLeastSlots)) {}

SparseShuffle::Table SparseShuffle::make_table(size_t capacity) const {
  Table table{
      .mask = capacity - 1, .first = next_, .scale = (uint64_t{capacity} << 32) / (count_ - next_)};
  table.slots.reset(static_cast<uint64_t*>(std::calloc(capacity, sizeof(uint64_t))));
  if (!table.slots) throw std::bad_alloc();
  return table;
}

size_t SparseShuffle::Table::find(uint32_t place) const {
  size_t slot = home(place);
  while (slots[slot] != 0 && !is_of(slots[slot], place)) slot = (slot + 1) & mask;
  return slot;
}

// Moves up the entries that follow, so that linear probing still finds them.
void SparseShuffle::Table::erase(size_t slot) {
  for (size_t next = (slot + 1) & mask; slots[next] != 0; next = (next + 1) & mask) {
    const size_t from_home = (next - home(place_of(slots[next]))) & mask;
    if (from_home < ((next - slot) & mask)) continue;
    slots[slot] = slots[next];
    slot = next;
  }
  slots[slot] = 0;
}

uint32_t SparseShuffle::take() {
  const uint32_t place = next_++;
  size_t slot = table_.find(place);
  if (const uint64_t entry = table_.slots[slot]; entry != 0) {
    table_.erase(slot);
    --size_;
    return number_of(entry);
  }
  if (!old_.slots) return place;
  slot = old_.find(place);
  if (old_.slots[slot] == 0) return place;
  --size_;
  return number_of(std::exchange(old_.slots[slot], kGone));
}

uint32_t SparseShuffle::exchange(uint32_t place, uint32_t number) {
  if (old_.slots) {
    move_some();
  } else if (is_full()) {
    grow();
  }
  const uint64_t now = entry_of(place, number);
  // Goes to the old table ahead of moved_, so that the new table's pages are touched in order.
  if (old_.slots) {
    const size_t slot = old_.find(place);
    uint64_t& entry = old_.slots[slot];
    if (entry != 0) return number_of(std::exchange(entry, now));
    if (old_.home(place) >= moved_ && slot >= moved_ && !wrapped_) {
      entry = now;
      ++size_;
      return place;
    }
    wrapped_ |= old_.home(place) >= moved_;
  }
  uint64_t& entry = table_.slots[table_.find(place)];
  const uint64_t was = std::exchange(entry, now);
  if (was != 0) return number_of(was);
  ++size_;
  return place;
}

void SparseShuffle::prefetch(uint32_t place) const {
  __builtin_prefetch(&table_.slots[table_.home(place)], 1);
  if (old_.slots) __builtin_prefetch(&old_.slots[old_.home(place)], 1);
}

bool SparseShuffle::is_full() const {
  return 16 * size_ * (count_ - table_.first) > kMostTaken * table_.capacity() * (count_ - next_);
}

void SparseShuffle::grow() {
  const size_t wanted = std::bit_ceil(2 * 16 * size_ / kMostTaken);
  Table larger = make_table(std::max(kLeastSlots, wanted));
  old_ = std::exchange(table_, std::move(larger));
  moved_ = 0;
  wrapped_ = false;
}

void SparseShuffle::move_some() {
  for (const size_t end = moved_ + kMovedACall; moved_ < end; ++moved_) {
    uint64_t& entry = old_.slots[moved_];
    if (entry == 0 || entry == kGone) continue;
    table_.slots[table_.find(place_of(entry))] = entry;
    entry = kGone;
  }
  if (moved_ == old_.capacity()) old_ = Table();
}

}  // namespace strata::loadbalance
