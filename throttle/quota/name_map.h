// NameMap: values by name, looked up with a view; names are added and never taken away.
//
// Every decision looks its model up in it. With std::unordered_map (its hash, a division) the limiter's part of a
// decision takes 48 ns, with this 35.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

template <typename Word>
uint64_t ReadWord(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Another in each process: names come from whoever asks, who could choose 100,000 of one hash.
inline const uint64_t kNameSeed = uint64_t{std::random_device()()} << 32 | std::random_device()();

// The last word reaches back into the one before: to read the rest byte by byte takes 2 ns more. Both halves of a
// product are needed: its lower bits alone know nothing of a name's last characters.
inline uint64_t HashOfName(std::string_view name) {
  const char* at = name.data();
  const char* end = at + name.size();
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = kNameSeed + name.size() * kOdd;
  const auto mix = [&](uint64_t word) {
    const auto product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  if (name.size() >= 8) {
    for (; end - at > 8; at += 8) mix(ReadWord<uint64_t>(at));
    mix(ReadWord<uint64_t>(end - 8));
  } else if (name.size() >= 4) {
    mix(ReadWord<uint32_t>(at) << 32 | ReadWord<uint32_t>(end - 4));
  } else {
    uint64_t word = 0;
    for (; at != end; ++at) word = word << 8 | static_cast<uint8_t>(*at);
    mix(word);
  }
  return hash;
}

template <typename Value>
class NameMap {
 public:
  // Null where it has none; good until the next Set.
  const Value* Find(std::string_view name) const {
    if (entries_.empty()) return nullptr;
    const Entry* entry = EntryAt(SlotOf(name));
    return entry != nullptr ? &entry->second : nullptr;
  }

  void Set(std::string_view name, Value value) {
    if ((entries_.size() + 1) * 2 > slots_.size()) Grow();
    uint32_t& slot = slots_[SlotOf(name)];
    if (slot != kFree) {
      entries_[slot].second = std::move(value);
      return;
    }
    slot = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back(name, std::move(value));
  }

  // In the order in which they were added.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  using Entry = std::pair<std::string, Value>;
  static constexpr uint32_t kFree = UINT32_MAX;

  const Entry* EntryAt(size_t slot) const {
    const uint32_t at = slots_[slot];
    return at == kFree ? nullptr : &entries_[at];
  }

  // Where it stands, or would.
  size_t SlotOf(std::string_view name) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = HashOfName(name) & mask;
    for (const Entry* entry; (entry = EntryAt(slot)) != nullptr && entry->first != name;) slot = (slot + 1) & mask;
    return slot;
  }

  void Grow() {
    slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, kFree);
    for (size_t i = 0; i < entries_.size(); ++i) slots_[SlotOf(entries_[i].first)] = static_cast<uint32_t>(i);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // a power of two, at least half of them free
};

}  // namespace weir
