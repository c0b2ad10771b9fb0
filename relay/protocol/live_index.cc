#include "relay/protocol/live_index.h"

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "relay/nostr/content.h"
#include "relay/search/search_text.h"

namespace weir {
namespace {

// An entry of a subscription in a bucket: the subscription's slot, and the index of the entry's Place in the slot's
// `places`.
struct Entry {
  uint32_t slot;
  uint32_t place;
};
using Entries = boost::container::small_vector<Entry, 2>;
// The keys are mixed with a secret seed, because clients choose the values in their events.
using Buckets = std::unordered_map<uint64_t, Entries>;

struct Place {
  Buckets::value_type* bucket;
  uint32_t position;
  uint32_t filter;    // the first filter with this entry
  bool more = false;  // true if a later filter has this entry, too
};

struct FilterState {
  uint64_t looked_in = 0;       // the last round in which the filter was matched
  uint32_t first_key = 0;       // index of the filter's first key in the slot's tag_keys
  std::vector<uint64_t> words;  // words of the filter's search
};

struct Slot {
  LiveIndex::Key key = 0;  // 0 if the slot is free
  void* subscriber = nullptr;
  size_t of_query = 0;
  std::vector<Filter> filters;
  std::vector<FilterState> states;  // one for each filter
  std::vector<uint64_t> tag_keys;   // keys of the values of all tag conditions, in their order
  std::vector<Place> places;
  uint64_t matched_in = 0;  // the last round in which the subscription was found
};

struct Tag {
  uint64_t key;
  TagView tag;
};

constexpr int kSlotBits = 24;  // bits of a key for the slot's index; the other bits count the slots' uses
// The bytes of an entry: a node of the unordered_map with its share of the table and malloc's overhead, and a Place.
constexpr uint64_t kEntryBytes = 80 + sizeof(Place);
constexpr Work kLookUpWork = 40;   // looking up a bucket
constexpr Work kTagHashWork = 20;  // entering a tag into the event's table
constexpr Work kWordWork = 20;     // looking for a word of a search among those of the event
constexpr size_t kHashedBytesForWork = 4;
// Searching the values of a condition for one tag costs as much as looking up this many values among the tags.
constexpr size_t kSearchSteps = 8;

enum class Field : uint64_t { kId = 1, kAuthor, kKind, kTag, kAll };

uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t Fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

uint64_t EntriesOf(const Filter& filter) {
  if (filter.MatchesNothing()) return 0;
  if (filter.ids) return filter.ids->size();
  if (!filter.tags.empty()) return filter.FewestTags().values.size();
  if (filter.authors) return filter.authors->size();
  return filter.kinds ? filter.kinds->size() : 1;
}

uint64_t TagValuesIn(const Filter& filter) {
  uint64_t values = 0;
  for (const TagCondition& tag : filter.tags) values += tag.values.size();
  return values;
}

}  // namespace

struct LiveIndex::Rep {
  uint64_t KeyOf(Field field, uint64_t value) const { return Mix(Mix(value ^ seed) + static_cast<uint64_t>(field)); }
  uint64_t KeyOf(Field field, const Bytes32& value) const {
    uint64_t prefix = 0;
    std::memcpy(&prefix, value.data(), sizeof(prefix));
    return KeyOf(field, prefix);
  }
  uint64_t KeyOf(char letter, std::string_view value) const;

  void Enter(uint32_t slot_index, uint32_t filter, uint64_t bucket_key);
  void EnterFilter(uint32_t slot_index, uint32_t filter_index);
  void Leave(const Place& place);

  void HashTags(EventView of);
  const TagView* TagWith(uint64_t key) const;
  bool Meets(const TagCondition& condition, const uint64_t* keys);
  bool HasWords(const std::vector<uint64_t>& words);
  bool Matches(const Slot& slot, size_t filter);
  bool MatchesEntered(Slot& slot, const Place& place, size_t* filter);
  void Visit(Entry entry, std::vector<Hit>* hits);
  bool Walk(Work most, std::vector<Hit>* hits);

  const uint64_t seed = RandomSeed();
  const uint64_t tag_seed = RandomSeed();
  Buckets buckets;
  std::deque<Slot> slots;
  std::vector<uint32_t> free_slots;
  size_t size = 0;
  uint64_t uses = 0;

  // The event that is being matched, and the progress of matching it.
  uint64_t round = 0;
  EventView event{std::string_view()};
  std::optional<SearchWords> content;  // the words of its content, once a filter with a search is matched
  std::vector<Tag> tags;               // each once
  std::vector<uint32_t> tag_table;     // a hash table with open addressing: each tag's index plus 1, or 0 if free
  std::vector<uint64_t> look_ups;      // keys of buckets
  size_t look_up = 0;                  // index of the current bucket in look_ups
  size_t position = SIZE_MAX;          // entries of the current bucket below this index are still to be visited
  Work spent = 0;
};

// Multiplies every 16 bytes with secret seeds. Collisions of std::hash are publicly known: with std::hash, a client
// could give all tags of an event the same place.
uint64_t LiveIndex::Rep::KeyOf(char letter, std::string_view value) const {
  uint64_t hash = seed + static_cast<uint64_t>(letter);
  uint64_t words[2];
  const char* at = value.data();
  size_t left = value.size();
  for (; left >= sizeof(words); left -= sizeof(words), at += sizeof(words)) {
    std::memcpy(words, at, sizeof(words));
    hash = Fold(words[0] ^ tag_seed, words[1] ^ hash);
  }
  words[0] = words[1] = 0;
  if (left > 0) std::memcpy(words, at, left);
  hash = Fold(words[0] ^ tag_seed, words[1] ^ hash);
  return Fold(hash ^ tag_seed, value.size() ^ seed);
}

void LiveIndex::Rep::Enter(uint32_t slot_index, uint32_t filter, uint64_t bucket_key) {
  Buckets::value_type& bucket = *buckets.try_emplace(bucket_key).first;
  Entries& entries = bucket.second;
  std::vector<Place>& places = slots[slot_index].places;
  // If this subscription has an entry in the bucket, it is the last, because no other subscription enters meanwhile.
  if (!entries.empty() && entries.back().slot == slot_index) {
    places[entries.back().place].more = true;
    return;
  }
  entries.push_back({slot_index, static_cast<uint32_t>(places.size())});
  places.push_back({&bucket, static_cast<uint32_t>(entries.size() - 1), filter});
}

void LiveIndex::Rep::EnterFilter(uint32_t slot_index, uint32_t filter_index) {
  Slot& slot = slots[slot_index];
  const Filter& filter = slot.filters[filter_index];
  size_t key = slot.states[filter_index].first_key = static_cast<uint32_t>(slot.tag_keys.size());
  if (filter.MatchesNothing()) return;
  if (filter.search) slot.states[filter_index].words = WordsOfSearch(*filter.search);
  for (const TagCondition& tag : filter.tags)
    for (const std::string& value : tag.values) slot.tag_keys.push_back(KeyOf(tag.letter, value));
  const auto enter = [&](uint64_t bucket_key) { Enter(slot_index, filter_index, bucket_key); };
  if (filter.ids) {
    for (const EventId& id : *filter.ids) enter(KeyOf(Field::kId, id));
  } else if (!filter.tags.empty()) {
    const TagCondition& fewest = filter.FewestTags();
    for (const TagCondition* tag = filter.tags.data(); tag != &fewest; ++tag) key += tag->values.size();
    for (const size_t end = key + fewest.values.size(); key < end; ++key) enter(slot.tag_keys[key]);
  } else if (filter.authors) {
    for (const PublicKey& author : *filter.authors) enter(KeyOf(Field::kAuthor, author));
  } else if (filter.kinds) {
    for (const uint16_t kind : *filter.kinds) enter(KeyOf(Field::kKind, kind));
  } else {
    enter(KeyOf(Field::kAll, 0));
  }
}

// Moves the bucket's last entry into the gap. Walk still visits every entry, because it visits the last entry first.
void LiveIndex::Rep::Leave(const Place& place) {
  Entries& entries = place.bucket->second;
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

void LiveIndex::Rep::HashTags(EventView of) {
  tags.clear();
  size_t bytes = 0;
  for (const TagView tag : of.tags()) {
    tags.push_back({KeyOf(tag.letter, tag.value), tag});
    bytes += tag.value.size();
  }
  spent += tags.size() * kTagHashWork + bytes / kHashedBytesForWork;
  tag_table.assign(tags.empty() ? 0 : std::bit_ceil(2 * tags.size()), 0);
  size_t kept = 0;
  for (const Tag& tag : tags) {
    size_t at = tag.key & (tag_table.size() - 1);
    while (tag_table[at] != 0 && tags[tag_table[at] - 1].key != tag.key) at = (at + 1) & (tag_table.size() - 1);
    if (tag_table[at] != 0) continue;
    tags[kept] = tag;
    tag_table[at] = static_cast<uint32_t>(++kept);
  }
  tags.resize(kept);
}

const TagView* LiveIndex::Rep::TagWith(uint64_t key) const {
  for (size_t at = key;; ++at) {
    const uint32_t number = tag_table[at & (tag_table.size() - 1)];
    if (number == 0) return nullptr;
    if (tags[number - 1].key == key) return &tags[number - 1].tag;
  }
}

bool LiveIndex::Rep::Meets(const TagCondition& condition, const uint64_t* keys) {
  const std::vector<std::string>& values = condition.values;
  if (values.size() > kSearchSteps * tags.size()) {
    spent += tags.size() * kSearchSteps * kTagVisitWork;
    return std::any_of(tags.begin(), tags.end(), [&](const Tag& t) {
      return t.tag.letter == condition.letter && std::binary_search(values.begin(), values.end(), t.tag.value);
    });
  }
  for (size_t i = 0; i < values.size(); ++i) {
    spent += kTagVisitWork;
    const TagView* const tag = TagWith(keys[i]);
    if (tag != nullptr && tag->letter == condition.letter && tag->value == values[i]) return true;
  }
  return false;
}

// A search without words, which the relay refuses, matches no event.
bool LiveIndex::Rep::HasWords(const std::vector<uint64_t>& wanted) {
  spent += wanted.size() * kWordWork;
  if (!content) spent += std::min(event.json().size(), kMostTextBytes) * kSplitByteWork;
  if (!content) content = WordsOf(ContentOf(event));
  return !wanted.empty() && std::ranges::includes(content->words, wanted, {}, &WordCount::word);
}

bool LiveIndex::Rep::Matches(const Slot& slot, size_t filter_index) {
  const Filter& filter = slot.filters[filter_index];
  spent += kFilterWork;
  if (!filter.MatchesButTags(event)) return false;
  const uint64_t* keys = slot.tag_keys.data() + slot.states[filter_index].first_key;
  for (const TagCondition& condition : filter.tags) {
    if (!Meets(condition, keys)) return false;
    keys += condition.values.size();
  }
  return !filter.search || HasWords(slot.states[filter_index].words);
}

// Matches a filter only once for an event, although a filter with many values may be found in many buckets.
bool LiveIndex::Rep::MatchesEntered(Slot& slot, const Place& place, size_t* filter) {
  const size_t end = place.more ? slot.filters.size() : place.filter + 1;
  for (*filter = place.filter; *filter < end; ++*filter) {
    ++spent;
    if (std::exchange(slot.states[*filter].looked_in, round) != round && Matches(slot, *filter)) return true;
  }
  return false;
}

void LiveIndex::Rep::Visit(Entry entry, std::vector<Hit>* hits) {
  Slot& slot = slots[entry.slot];
  size_t filter = 0;
  if (slot.matched_in == round || !MatchesEntered(slot, slot.places[entry.place], &filter)) return;
  slot.matched_in = round;
  bool by_query = filter < slot.of_query;
  for (size_t i = 0; !by_query && i < slot.of_query; ++i) by_query = Matches(slot, i);
  hits->push_back({slot.subscriber, by_query});
  spent += kDeliveryWork;
}

bool LiveIndex::Rep::Walk(Work most, std::vector<Hit>* hits) {
  for (; look_up < look_ups.size(); ++look_up, position = SIZE_MAX) {
    spent += kLookUpWork;
    const auto bucket = buckets.find(look_ups[look_up]);
    if (bucket == buckets.end()) continue;
    const Entries& entries = bucket->second;
    for (position = std::min(position, entries.size()); position > 0;) {
      Visit(entries[--position], hits);
      if (spent >= most) return false;
    }
  }
  return true;
}

LiveIndex::LiveIndex() : rep_(std::make_unique<Rep>()) {}
LiveIndex::~LiveIndex() = default;

LiveIndex::Key LiveIndex::Add(std::vector<Filter> filters, void* subscriber, size_t of_query) {
  Rep& rep = *rep_;
  if (rep.free_slots.empty()) {
    // Room for all slots, so that Remove allocates nothing.
    if (rep.free_slots.capacity() <= rep.slots.size()) rep.free_slots.reserve(2 * rep.slots.size() + 1);
    rep.free_slots.push_back(static_cast<uint32_t>(rep.slots.size()));
    rep.slots.emplace_back();
  }
  const uint32_t index = rep.free_slots.back();
  rep.free_slots.pop_back();
  Slot& slot = rep.slots[index];
  slot.key = (++rep.uses << kSlotBits) | index;
  slot.subscriber = subscriber;
  slot.of_query = std::min(of_query, filters.size());
  slot.filters = std::move(filters);
  slot.states.resize(slot.filters.size());
  uint64_t tag_values = 0;
  uint64_t entries = 0;
  for (const Filter& filter : slot.filters) {
    tag_values += TagValuesIn(filter);
    entries += EntriesOf(filter);
  }
  slot.tag_keys.reserve(tag_values);
  slot.places.reserve(entries);
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

void LiveIndex::Begin(EventView event) {
  Rep& rep = *rep_;
  ++rep.round;
  rep.event = event;
  rep.look_ups.clear();
  rep.look_up = 0;
  rep.position = SIZE_MAX;
  rep.spent = 0;
  rep.content.reset();
  if (rep.size == 0) return;
  rep.HashTags(event);
  rep.look_ups = {rep.KeyOf(Field::kId, event.id()), rep.KeyOf(Field::kAuthor, event.pubkey()),
                  rep.KeyOf(Field::kKind, event.kind()), rep.KeyOf(Field::kAll, 0)};
  for (const Tag& tag : rep.tags) rep.look_ups.push_back(tag.key);
}

bool LiveIndex::Next(Work* left, std::vector<Hit>* hits) {
  const bool done = rep_->Walk(*left, hits);
  *left -= std::min(*left, std::exchange(rep_->spent, 0));
  return done;
}

size_t LiveIndex::size() const { return rep_->size; }

size_t LiveIndex::places() const { return rep_->slots.size(); }

void* LiveIndex::At(size_t place) const { return rep_->slots[place].subscriber; }

Work LiveIndex::MostWork(std::span<const Filter> filters) {
  Work work = kDeliveryWork;
  for (const Filter& filter : filters)
    work += kFilterWork + (EntriesOf(filter) + TagValuesIn(filter)) * kTagVisitWork +
            (filter.search ? kMostSearchWords * kWordWork : 0);
  return work;
}

uint64_t LiveIndex::BytesOf(std::span<const Filter> filters) {
  uint64_t bytes = sizeof(Slot) + sizeof(uint32_t);
  for (const Filter& filter : filters) {
    bytes += sizeof(FilterState) + EntriesOf(filter) * kEntryBytes + TagValuesIn(filter) * sizeof(uint64_t);
    if (filter.search) bytes += kMostSearchWords * sizeof(uint64_t);
  }
  return bytes;
}

}  // namespace weir
