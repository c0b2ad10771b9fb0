#include "relay/moderation/ban_removals.h"

#include <spdlog/spdlog.h>

#include <array>
#include <utility>

#include "config/text/hex.h"

namespace weir {
namespace {

// The most removals in one piece. Only those that find no event share a piece, such as those of an import of bans.
constexpr size_t kMostInPiece = 16;

}  // namespace

std::string BanRemovals::MemoOf(DecisionList list, std::string_view subject) {
  return std::string("removal/").append(NameOf(list)).append("/").append(subject);
}

void BanRemovals::PutNew(DecisionList list, const std::string& subject, uint64_t banned_at) {
  Item item;
  item.removal = {.list = list, .subject = subject};
  item.banned_at = banned_at;
  Put(MemoOf(list, subject), std::move(item), 0);
}

void BanRemovals::Put(const std::string& name, Item item, uint64_t due_at) {
  item.place = {due_at, ++last_number_};
  order_.emplace(item.place, name);
  going_on_ += item.removal.done ? 0 : 1;
  items_.insert_or_assign(name, std::move(item));
}

void BanRemovals::Drop(const std::string& name) {
  const auto found = items_.find(name);
  if (found == items_.end()) return;
  going_on_ -= found->second.removal.done ? 0 : 1;
  order_.erase(found->second.place);
  items_.erase(found);
}

void BanRemovals::Begin(DecisionList list, const std::string& subject, uint64_t banned_at) {
  const MutexLock lock(mutex_);
  Drop(MemoOf(list, subject));
  PutNew(list, subject, banned_at);
}

void BanRemovals::Resume(DecisionList list, const std::string& subject, uint64_t banned_at) {
  const MutexLock lock(mutex_);
  const std::string name = MemoOf(list, subject);
  const auto found = items_.find(name);
  if (found != items_.end() && found->second.banned_at >= banned_at) return;
  Drop(name);
  PutNew(list, subject, banned_at);
}

void BanRemovals::End(DecisionList list, std::string_view subject) {
  const MutexLock lock(mutex_);
  Drop(MemoOf(list, subject));
}

// Returns false if no removal is due.
bool BanRemovals::TakeNext(Item* item) const {
  const MutexLock lock(mutex_);
  if (order_.empty() || order_.begin()->first.first > clock_.NowSeconds()) return false;
  *item = items_.at(order_.begin()->second);
  return true;
}

Result<OwedPiece> BanRemovals::RemovePiece(Work most) {
  OwedPiece piece{.removed = 0, .more = true};
  std::vector<Memo> over;
  Item item;
  for (size_t n = 0; n < kMostInPiece; ++n) {
    piece.more = TakeNext(&item);
    if (!piece.more) break;
    const Result<OwedPiece> some = RemoveSome(&item, most);
    if (!some.ok()) {
      PutOff(item);
      return some.status();
    }
    if (Note(item, some.value())) over.push_back({MemoOf(item.removal.list, item.removal.subject), std::nullopt});
    piece.removed += some.value().removed;
    if (some.value().removed > 0 || some.value().more) break;
  }
  if (over.empty()) return piece;
  if (Status written = store_.WriteMemos(over); !written.ok()) return written;
  EndAll(over);
  return piece;
}

Result<OwedPiece> BanRemovals::RemoveSome(Item* item, Work most) {
  Bytes32 subject{};
  FromHex(item->removal.subject, subject.data(), subject.size());
  if (item->removal.list == DecisionList::kBannedAuthors) return store_.RemoveAuthor(subject, &item->resume, most);
  const Result<uint64_t> removed = store_.Delete(std::array<EventId, 1>{subject});
  if (!removed.ok()) return removed.status();
  return OwedPiece{.removed = removed.value(), .more = false};
}

// Puts the removal in its next place, unless it was ended or begun anew meanwhile. Returns true if it is over. It then
// stays until its memo is removed; if that fails, it is due again a minute later.
bool BanRemovals::Note(const Item& item, const OwedPiece& piece) {
  const std::string name = MemoOf(item.removal.list, item.removal.subject);
  const MutexLock lock(mutex_);
  removed_ += piece.removed;
  const auto found = items_.find(name);
  if (found == items_.end() || found->second.place != item.place) return false;
  Item next = item;
  next.removal.removed += piece.removed;
  if (!piece.more) {
    next.resume.clear();
    if (!next.removal.done && next.removal.removed > 0)
      spdlog::info("moderation: {} events are removed, by the ban of {}", next.removal.removed, next.removal.subject);
    next.removal.done = true;
  }
  const uint64_t now = clock_.NowSeconds();
  const bool is_over = !piece.more && now >= next.banned_at + kSettlesAfterSeconds;
  const uint64_t due_at = piece.more ? 0 : (is_over ? now : next.banned_at) + kSettlesAfterSeconds;
  Drop(name);
  Put(name, std::move(next), due_at);
  return is_over;
}

// Tries a removal that failed again a minute later, behind those that do not fail; otherwise it would hold them up, as
// the caller waits after each failure.
void BanRemovals::PutOff(const Item& item) {
  const std::string name = MemoOf(item.removal.list, item.removal.subject);
  const MutexLock lock(mutex_);
  const auto found = items_.find(name);
  if (found == items_.end() || found->second.place != item.place) return;
  Drop(name);
  Put(name, item, clock_.NowSeconds() + kSettlesAfterSeconds);
}

void BanRemovals::EndAll(const std::vector<Memo>& over) {
  const MutexLock lock(mutex_);
  for (const Memo& memo : over) {
    const auto found = items_.find(memo.name);
    if (found == items_.end()) continue;
    over_.push_back(found->second.removal);
    if (over_.size() > kMostListed) over_.pop_front();
    Drop(memo.name);
  }
}

std::vector<BanRemovals::Removal> BanRemovals::List() const {
  const MutexLock lock(mutex_);
  std::vector<Removal> removals(over_.begin(), over_.end());
  size_t listed = 0;
  for (const auto& [place, name] : order_) {
    if (++listed > kMostListed) break;
    removals.push_back(items_.at(name).removal);
  }
  return removals;
}

uint64_t BanRemovals::removed() const {
  const MutexLock lock(mutex_);
  return removed_;
}

size_t BanRemovals::going_on() const {
  const MutexLock lock(mutex_);
  return going_on_;
}

}  // namespace weir
