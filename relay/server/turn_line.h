// TurnLine: the sessions of an I/O thread that have something to do, in the order of their turns: addresses take turns,
// and the sessions of one address take turns within its own. However many connections an address has, a session of
// another waits for one turn of it, not for one of each.
//
// Holds who waits. One thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace weir {

// A Member has a `std::shared_ptr<Member> next_in_line`, which is the line's while it waits.
template <typename Member>
class TurnLine {
 public:
  TurnLine() = default;
  TurnLine(const TurnLine&) = delete;
  TurnLine& operator=(const TurnLine&) = delete;
  ~TurnLine() {
    while (Next() != nullptr) continue;
  }

  bool empty() const { return last_ == nullptr; }

  // One that does not wait yet.
  void Join(uint64_t address, std::shared_ptr<Member> member) {
    Address& place = addresses_[address];
    const bool is_first = place.first == nullptr;
    Member* const last = std::exchange(place.last, member.get());
    (is_first ? place.first : last->next_in_line) = std::move(member);
    if (is_first) Append(address, place);
  }

  // Whose turn it is; null where nobody waits.
  std::shared_ptr<Member> Next() {
    if (empty()) return nullptr;
    Address& place = *last_->next;
    std::shared_ptr<Member> member = std::move(place.first);
    place.first = std::move(member->next_in_line);
    if (place.first != nullptr) {
      last_ = &place;
    } else {
      last_->next = place.next;
      if (last_ == &place) last_ = nullptr;
      addresses_.erase(place.key);
    }
    return member;
  }

 private:
  struct Address {
    uint64_t key = 0;
    std::shared_ptr<Member> first;
    Member* last = nullptr;
    Address* next = nullptr;  // in the round
  };

  void Append(uint64_t key, Address& place) {
    place.key = key;
    place.next = last_ == nullptr ? &place : last_->next;
    if (last_ != nullptr) last_->next = &place;
    last_ = &place;
  }

  std::unordered_map<uint64_t, Address> addresses_;
  Address* last_ = nullptr;  // of the round, a ring
};

}  // namespace weir
