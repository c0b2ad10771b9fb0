#include "relay/store/paced_removals.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "relay/store/group_commit.h"

namespace weir {

bool PacedRemovals::MayGoOn() {
  if (!admit_) return true;
  const Result<bool> may = FaultsAsErrors<bool>([this] {
    if (admission_) {
      if (admission_->Poll() == Admission::State::kWaiting) return false;
      admission_.reset();
      return true;  // a request that was refused by now has waited as long as bulk work may wait
    }
    if (unpaid_ == 0) return true;
    if (steady_.Now() < ask_again_) return false;
    Admission asked = admit_(CostOf(unpaid_));
    if (asked.refused() && IsPutOff()) return false;
    refused_since_.reset();
    unpaid_ = 0;
    if (!asked.waiting()) return true;
    admission_.emplace(std::move(asked));
    return false;
  });
  return !may.ok() || may.value();
}

// Returns true if removals that were refused at once have to wait, and sets when to ask again.
bool PacedRemovals::IsPutOff() {
  const TimePoint now = steady_.Now();
  if (!refused_since_) refused_since_ = now;
  if (now - *refused_since_ >= kLongestRefused) return false;
  ask_again_ = now + kAskAgainAfter;
  return true;
}

void PacedRemovals::GoOn() {
  Look();
  EndCancelled();
  if (!owes() || !MayGoOn()) return;
  Owed* owed = nullptr;
  do owed = turns_[next_turn_++ % turns_.size()];
  while (!owed->more);
  Remove(owed);
}

void PacedRemovals::RemoveAlso(std::function<Result<OwedPiece>(Work most)> remove_piece) {
  others_.remove_piece = nullptr;
  if (remove_piece) others_.remove_piece = [piece = std::move(remove_piece)] { return piece(kPieceWork); };
  OweOthers();
}

void PacedRemovals::RemoveByIds(std::span<const EventId> ids, const std::atomic<bool>* cancelled, Removed done) {
  calls_.push_back({.left = ids, .cancelled = cancelled, .done = std::move(done)});
  by_id_.more = true;
}

// An error is its caller's; it does not hold up the other calls. The last piece of a call is charged, too, because the
// next call may follow at once.
Result<OwedPiece> PacedRemovals::RemovePieceById() {
  if (calls_.empty()) return OwedPiece();
  ById& call = calls_.front();
  const Result<OwedPiece> piece = FaultsAsErrors<OwedPiece>([&] { return store_.DeleteSome(&call.left, kPieceWork); });
  if (piece.ok()) {
    call.removed += piece.value().removed;
    Charge(kPieceWork);
  }
  if (!piece.ok() || !piece.value().more) {
    const ById over = std::move(call);
    calls_.pop_front();
    over.done(piece.ok() ? Result<uint64_t>(over.removed) : piece.status());
  }
  return OwedPiece{.more = !calls_.empty()};
}

void PacedRemovals::EndCancelled() {
  std::erase_if(calls_, [](const ById& call) {
    if (call.cancelled == nullptr || !*call.cancelled) return false;
    call.done(call.removed);
    return true;
  });
  by_id_.more = !calls_.empty();
}

void PacedRemovals::Stop(const Status& why) {
  admission_.reset();
  for (; !calls_.empty(); calls_.pop_front()) calls_.front().done(why);
}

void PacedRemovals::GoOnVanishing() {
  if (vanished_.more && MayGoOn()) Remove(&vanished_);
}

// Looks also if the clock was set back, which would delay the next look otherwise.
void PacedRemovals::Look() {
  const uint64_t now = clock_.NowSeconds();
  if (now >= last_look_ && now < last_look_ + kLookEverySeconds) return;
  last_look_ = now;
  vanished_.more = expired_.more = searched_.more = true;
  OweOthers();
  const Status kept = FaultsAsStatus([this] { return store_.Upkeep(); });
  if (!kept.ok() && !upkeep_failed_)
    spdlog::warn("the store's upkeep failed: {}; it is tried again every minute", kept.message());
  upkeep_failed_ = !kept.ok();
}

// After a failure this kind of removal waits for the next look; the other kind continues.
void PacedRemovals::Remove(Owed* owed) {
  const Result<OwedPiece> piece = FaultsAsErrors<OwedPiece>(owed->remove_piece);
  owed->more = piece.ok() && piece.value().more;
  if (!piece.ok() && !owed->failed)
    spdlog::error("{} cannot be {}: {}; it is tried again every minute", owed->what, owed->done,
                  piece.status().message());
  if (piece.ok() && owed->failed) spdlog::info("{} is {} again", owed->what, owed->done);
  owed->failed = !piece.ok();
  if (owed->more && owed != &by_id_) Charge(kPieceWork);
  if (owed == &searched_) return;
  if (!piece.ok()) {
    ++failed_sweeps_;
    return;
  }
  owed->removed += piece.value().removed;
  if (!owes_removals() &&
      std::ranges::none_of(turns_, [this](const Owed* each) { return each->failed && each != &searched_; }))
    ++sweeps_;
}

void PacedRemovals::AddTo(GroupCommitStats* stats) const {
  stats->sweeps = sweeps_;
  stats->failed_sweeps = failed_sweeps_;
  stats->vanished_removed = vanished_.removed;
  stats->expired_removed = expired_.removed;
}

}  // namespace weir
