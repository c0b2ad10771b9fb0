// TagSet: conditions on the tags of an event. Only tags whose name is one letter can be asked for, because an event's
// record has no others (relay/nostr/event.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "config/text/name_hash.h"
#include "relay/nostr/event.h"

namespace weir {

class TagSet {
 public:
  // `letter` must be in a-z or A-Z.
  void Add(char letter, std::string value) {
    values_[Slot(letter)].insert(std::move(value));
    empty_ = false;
  }
  // Returns true if a tag of the event has a value of the set, for the tag's letter.
  bool Match(EventView event) const {
    if (empty_) return false;
    return std::ranges::any_of(event.tags(), [this](const TagView& tag) { return Has(tag.letter, tag.value); });
  }
  bool Has(char letter, std::string_view value) const {
    const Values& values = values_[Slot(letter)];
    return !values.empty() && values.find(HashedName(value)) != values.end();
  }
  bool empty() const { return empty_; }
  size_t size() const {
    size_t size = 0;
    for (const Values& values : values_) size += values.size();
    return size;
  }

 private:
  using Values = std::unordered_set<std::string, HashName, SameName>;

  static size_t Slot(char letter) { return static_cast<size_t>(letter - 'A'); }

  std::array<Values, 'z' - 'A' + 1> values_;
  bool empty_ = true;
};

}  // namespace weir
