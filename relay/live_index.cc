#include "relay/live_index.h"

#include <boost/container/small_vector.hpp>
#include <cstring>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir {
namespace {

// A subscription that is entered here, by its slot and the place in the slot's list of entries.
struct Entry {
  uint32_t slot;
  uint32_t place;
};
struct Bucket {
  boost::container::small_vector<Entry, 2> entries;
  uint64_t looked_in = 0;  // the round of Match that was here last: an event may have a tag a thousand times
};
// What an event has may be chosen by anybody, so the keys are mixed with a seed that nobody knows.
using Buckets = std::unordered_map<uint64_t, Bucket>;

struct Place {
  Buckets::value_type* bucket;
  uint32_t position;
  uint32_t filter;    // the first that is entered there
  bool more = false;  // so is one of those after it
};

struct Slot {
  LiveIndex::Key key = 0;  // 0: free
  void* subscriber = nullptr;
  std::vector<Filter> filters;
  std::vector<Place> places;
  uint64_t matched_in = 0;  // the round of Match that found it last
};

constexpr int kSlotBits = 24;  // of a key: the slot; the rest tells its uses apart

enum class Field : uint64_t { kId = 1, kAuthor, kKind, kTag, kAll };

uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

struct LiveIndex::Rep {
  uint64_t KeyOf(Field field, uint64_t value) const { return Mix(Mix(value ^ seed) + static_cast<uint64_t>(field)); }
  uint64_t KeyOf(Field field, const Bytes32& value) const {
    uint64_t prefix = 0;
    std::memcpy(&prefix, value.data(), sizeof(prefix));
    return KeyOf(field, prefix);
  }
  uint64_t KeyOf(char letter, std::string_view value) const {
    return KeyOf(Field::kTag, std::hash<std::string_view>()(value) + static_cast<uint64_t>(letter));
  }

  void Enter(uint32_t slot_index, uint32_t filter, uint64_t bucket_key);
  void EnterFilter(uint32_t slot_index, uint32_t filter_index);
  void Leave(const Place& place);
  bool Matches(const Slot& slot, const Place& place, EventView event);
  template <typename OnSlot>
  void Look(uint64_t bucket_key, EventView event, const OnSlot& on_match);

  const uint64_t seed = RandomSeed();
  Buckets buckets;
  std::vector<Slot> slots;
  std::vector<uint32_t> free_slots;
  size_t size = 0;
  uint64_t uses = 0;
  uint64_t round = 0;
  size_t looked_at = 0;  // filters, in this round
};

void LiveIndex::Rep::Enter(uint32_t slot_index, uint32_t filter, uint64_t bucket_key) {
  Buckets::value_type& bucket = *buckets.try_emplace(bucket_key).first;
  auto& entries = bucket.second.entries;
  std::vector<Place>& places = slots[slot_index].places;
  // Nobody else enters meanwhile, so the subscription's own entry is the last.
  if (!entries.empty() && entries.back().slot == slot_index) {
    places[entries.back().place].more = true;
    return;
  }
  entries.push_back({slot_index, static_cast<uint32_t>(places.size())});
  places.push_back({&bucket, static_cast<uint32_t>(entries.size() - 1), filter});
}

void LiveIndex::Rep::EnterFilter(uint32_t slot_index, uint32_t filter_index) {
  const Filter& filter = slots[slot_index].filters[filter_index];
  if (filter.MatchesNothing()) return;
  const auto enter = [&](uint64_t key) { Enter(slot_index, filter_index, key); };
  if (filter.ids) {
    for (const EventId& id : *filter.ids) enter(KeyOf(Field::kId, id));
  } else if (!filter.tags.empty()) {
    const TagCondition* fewest = &filter.tags.front();
    for (const TagCondition& tag : filter.tags)
      if (tag.values.size() < fewest->values.size()) fewest = &tag;
    for (const std::string& value : fewest->values) enter(KeyOf(fewest->letter, value));
  } else if (filter.authors) {
    for (const PublicKey& author : *filter.authors) enter(KeyOf(Field::kAuthor, author));
  } else if (filter.kinds) {
    for (const uint16_t kind : *filter.kinds) enter(KeyOf(Field::kKind, kind));
  } else {
    enter(KeyOf(Field::kAll, 0));
  }
}

void LiveIndex::Rep::Leave(const Place& place) {
  auto& entries = place.bucket->second.entries;
  const Entry last = entries.back();
  entries.pop_back();
  if (entries.empty()) {
    const uint64_t bucket_key = place.bucket->first;
    buckets.erase(bucket_key);
  } else if (place.position < entries.size()) {
    entries[place.position] = last;
    slots[last.slot].places[last.place].position = place.position;
  }
}

bool LiveIndex::Rep::Matches(const Slot& slot, const Place& place, EventView event) {
  const size_t end = place.more ? slot.filters.size() : place.filter + 1;
  for (size_t i = place.filter; i < end; ++i) {
    ++looked_at;
    if (slot.filters[i].Matches(event)) return true;
  }
  return false;
}

template <typename OnSlot>
void LiveIndex::Rep::Look(uint64_t bucket_key, EventView event, const OnSlot& on_match) {
  const auto found = buckets.find(bucket_key);
  if (found == buckets.end() || std::exchange(found->second.looked_in, round) == round) return;
  for (const Entry& entry : found->second.entries) {
    Slot& slot = slots[entry.slot];
    if (slot.matched_in == round || !Matches(slot, slot.places[entry.place], event)) continue;
    slot.matched_in = round;
    on_match(slot.key, slot.subscriber);
  }
}

LiveIndex::LiveIndex() : rep_(std::make_unique<Rep>()) {}
LiveIndex::~LiveIndex() = default;

LiveIndex::Key LiveIndex::Add(std::vector<Filter> filters, void* subscriber) {
  Rep& rep = *rep_;
  if (rep.free_slots.empty()) {
    rep.free_slots.push_back(static_cast<uint32_t>(rep.slots.size()));
    rep.slots.emplace_back();
  }
  const uint32_t index = rep.free_slots.back();
  rep.free_slots.pop_back();
  Slot& slot = rep.slots[index];
  slot.key = (++rep.uses << kSlotBits) | index;
  slot.subscriber = subscriber;
  slot.filters = std::move(filters);
  for (uint32_t i = 0; i < slot.filters.size(); ++i) rep.EnterFilter(index, i);
  ++rep.size;
  return slot.key;
}

void LiveIndex::Remove(Key key) {
  Rep& rep = *rep_;
  const uint64_t index = key & ((uint64_t{1} << kSlotBits) - 1);
  if (index >= rep.slots.size() || rep.slots[index].key != key) return;
  for (const Place& place : rep.slots[index].places) rep.Leave(place);
  rep.slots[index] = Slot();
  rep.free_slots.push_back(static_cast<uint32_t>(index));
  --rep.size;
}

size_t LiveIndex::Match(EventView event, const std::function<void(Key key, void* subscriber)>& on_match) const {
  Rep& rep = *rep_;
  if (rep.size == 0) return 0;
  ++rep.round;
  rep.looked_at = 0;
  rep.Look(rep.KeyOf(Field::kId, event.id()), event, on_match);
  rep.Look(rep.KeyOf(Field::kAuthor, event.pubkey()), event, on_match);
  rep.Look(rep.KeyOf(Field::kKind, event.kind()), event, on_match);
  for (const TagView tag : event.tags()) rep.Look(rep.KeyOf(tag.letter, tag.value), event, on_match);
  rep.Look(rep.KeyOf(Field::kAll, 0), event, on_match);
  return rep.looked_at;
}

size_t LiveIndex::size() const { return rep_->size; }

}  // namespace weir
