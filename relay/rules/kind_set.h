// KindSet: a set of event kinds.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

namespace weir {

class KindSet {
 public:
  static constexpr size_t kKinds = 65536;

  KindSet() = default;
  static KindSet All() {
    KindSet all;
    all.bits_.set();
    all.empty_ = false;
    return all;
  }

  // Adds the kinds from `first` to `last`, both included.
  void Add(uint16_t first, uint16_t last) {
    for (size_t kind = first; kind <= last; ++kind) bits_.set(kind);
    empty_ = empty_ && first > last;
  }
  bool Has(uint16_t kind) const { return bits_[kind]; }
  bool empty() const { return empty_; }
  bool Contains(const KindSet& other) const { return (other.bits_ & ~bits_).none(); }
  KindSet operator&(const KindSet& other) const { return KindSet(bits_ & other.bits_); }
  KindSet operator|(const KindSet& other) const { return KindSet(bits_ | other.bits_); }
  KindSet operator-(const KindSet& other) const { return KindSet(bits_ & ~other.bits_); }
  bool operator==(const KindSet&) const = default;

  // Calls visit(first, last) for each range of kinds that follow each other.
  template <typename Visit>
  void ForEachRange(Visit visit) const {
    for (size_t first = 0; first < kKinds; ++first) {
      if (!bits_[first]) continue;
      size_t last = first;
      while (last + 1 < kKinds && bits_[last + 1]) ++last;
      visit(static_cast<uint16_t>(first), static_cast<uint16_t>(last));
      first = last;
    }
  }

  // Returns "all kinds", or the kinds as "0-3, 7"; at most ten numbers and ranges, then "…".
  std::string InWords() const {
    if (bits_.all()) return "all kinds";
    std::string words;
    size_t items = 0;
    ForEachRange([&](uint16_t first, uint16_t last) {
      if (++items == kMostItems + 1) words += ", …";
      if (items > kMostItems) return;
      words += (words.empty() ? "" : ", ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    });
    return words;
  }

 private:
  static constexpr size_t kMostItems = 10;

  explicit KindSet(const std::bitset<kKinds>& bits) : bits_(bits), empty_(bits.none()) {}

  std::bitset<kKinds> bits_;
  bool empty_ = true;  // every event asks for this, and looking at all bits takes longer than all other rules about it
};

}  // namespace weir
