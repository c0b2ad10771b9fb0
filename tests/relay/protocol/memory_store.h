// MemoryStore: a store in memory, whose queries search all events. A test can make it fail or hang.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/event_store.h"

namespace weir {

class MemoryStore final : public EventStore {
 public:
  void HoldSaves(bool hold) {
    const std::lock_guard lock(mutex_);
    hold_saves_ = hold;
    changed_.notify_all();
  }
  bool holds_saves() const {
    const std::lock_guard lock(mutex_);
    return hold_saves_;
  }
  // Makes saves fail with this error. An empty message ends the failures.
  void FailSaves(std::string message) {
    const std::lock_guard lock(mutex_);
    save_error_ = std::move(message);
  }
  void SetInDoubt(bool is) { in_doubt_ = is; }
  void ThrowInSaves(bool does) {
    const std::lock_guard lock(mutex_);
    saves_throw_ = does;
  }
  void ThrowInReads(bool does) {
    const std::lock_guard lock(mutex_);
    reads_throw_ = does;
  }
  // Sets the outcome of all later saves.
  void SetOutcome(SaveOutcome outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
  }
  // Makes the next slice of a query throw.
  void ThrowInQuery() { *throws_ = true; }
  // Sets the result of held_bytes() of a query.
  void SetHeldBytes(uint64_t bytes) { *held_bytes_ = bytes; }
  // Sets the work that a query does for each event that it finds.
  void SetEventWork(Work work) { event_work_ = work; }
  // Sets the work that a query does to say whether it would find an event.
  void SetMatchWork(Work work) { *match_work_ = work; }
  size_t queries_open() const { return *queries_open_; }
  size_t suspensions() const { return *suspensions_; }

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t, Work, std::span<SaveResult> results) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hold_saves_; });
    if (saves_throw_) throw std::bad_alloc();
    if (!save_error_.empty()) return Status::Error(save_error_);
    for (size_t i = 0; i < events.size(); ++i) {
      results[i].outcome = HasLocked(events[i].view().id()) ? SaveOutcome::kDuplicate : outcome_;
      if (results[i].outcome != SaveOutcome::kSaved) continue;
      saved_.push_back(events[i]);
      results[i].serial = {.number = saved_.size()};
    }
    return events.size();
  }

  Result<OwedPiece> RemoveVanished(Work) override { return OwedPiece(); }
  Result<OwedPiece> RemoveExpired(uint64_t, Work) override { return OwedPiece(); }

  bool in_doubt() const override { return in_doubt_; }
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override {
    const std::lock_guard lock(mutex_);
    if (reads_throw_) throw std::bad_alloc();
    std::vector<bool> stored;
    for (const EventId& id : ids) stored.push_back(HasLocked(id));
    return stored;
  }
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override {
    return std::vector<bool>(events.size());
  }

  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<Walk>(saved_, std::move(filters), options, queries_open_, suspensions_, throws_,
                                  held_bytes_, event_work_, match_work_);
  }

  Result<OwedPiece> DeleteSome(std::span<const EventId>* ids, Work) override {
    *ids = {};
    return OwedPiece();
  }
  Result<Moment> Now() const override { return Moment(); }
  Status ScanAll(const Moment& after, const Moment& until,
                 const std::function<bool(Serial, EventView)>& visit) const override {
    const std::lock_guard lock(mutex_);
    for (uint64_t number = after.NumberOf(0) + 1; number <= std::min<uint64_t>(until.NumberOf(0), saved_.size());
         ++number)
      if (!visit({.number = number}, saved_[number - 1].view())) break;
    return {};
  }
  Status Flush() override { return {}; }
  StoreSizes Sizes() const override { return {}; }
  Result<std::vector<EventGroups>> Groups(const Moment& moment) const override {
    if (!has_groups_) return std::vector<EventGroups>();
    return EventStore::Groups(moment);
  }
  // Makes the store one that cannot be sampled.
  void HaveNoGroups() { has_groups_ = false; }

 private:
  class Walk final : public Query {
   public:
    Walk(std::vector<Event> events, std::vector<Filter> filters, const QueryOptions& options,
         std::shared_ptr<std::atomic<size_t>> open, std::shared_ptr<std::atomic<size_t>> suspensions,
         std::shared_ptr<std::atomic<bool>> throws, std::shared_ptr<std::atomic<uint64_t>> held_bytes, Work event_work,
         std::shared_ptr<std::atomic<Work>> match_work)
        : open_(std::move(open)),
          suspensions_(std::move(suspensions)),
          throws_(std::move(throws)),
          held_bytes_(std::move(held_bytes)),
          event_work_(event_work),
          match_work_(std::move(match_work)) {
      ++*open_;
      moment_.Advance({.number = events.size()});
      std::ranges::sort(events, [](const Event& a, const Event& b) {
        if (a.view().created_at() != b.view().created_at()) return a.view().created_at() > b.view().created_at();
        return a.view().id() < b.view().id();
      });
      std::vector<uint64_t> left;
      for (const Filter& f : filters)
        left.push_back(std::min(f.limit.value_or(options.default_limit), options.max_limit));
      for (const Event& event : events) {
        if (!IsSeen(event.view(), options)) continue;
        bool wanted = false;
        bool cut = false;
        for (size_t i = 0; i < filters.size(); ++i) {
          if (!filters[i].Matches(event.view())) continue;
          (left[i] > 0 ? wanted : cut) = true;
          if (left[i] > 0) --left[i];
        }
        if (wanted) answer_.push_back(event);
        if (cut && !wanted) complete_ = false;
      }
    }
    ~Walk() override { --*open_; }

    Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override {
      if (throws_->exchange(false)) throw std::bad_alloc();
      size_t bytes = 0;
      const Work most = std::max<Work>(1, slice.max_work / event_work_);
      for (uint32_t n = 0; next_ < answer_.size() && n < most && bytes < slice.max_bytes; ++n) {
        bytes += answer_[next_].view().json().size();
        on_match(answer_[next_++].view());
      }
      return next_ < answer_.size() ? Progress::kMore : Progress::kDone;
    }
    const Moment& moment() const override { return moment_; }
    bool complete() const override { return complete_; }
    uint64_t visits() const override { return next_; }
    Work work() const override { return next_ * event_work_ + matched_work_; }
    std::optional<bool> WouldFind(EventView event, Work) override {
      matched_work_ += *match_work_;
      const auto later = std::span(answer_).subspan(next_);
      return std::ranges::any_of(later, [&](const Event& found) { return found.view().id() == event.id(); });
    }
    void Suspend() override { ++*suspensions_; }
    uint64_t held_bytes() const override { return *held_bytes_; }

   private:
    // Asks for the record only if it must, as the store on RocksDB does.
    static bool IsSeen(EventView event, const QueryOptions& options) {
      Sight sight = Sight::kUnknown;
      if (options.ids_only && options.ids_only->sight) {
        const PublicKey& by = event.pubkey();
        sight = options.ids_only->sight(
            event.kind(), uint32_t{by[0]} << 24 | uint32_t{by[1]} << 16 | uint32_t{by[2]} << 8 | uint32_t{by[3]});
      }
      if (sight == Sight::kUnknown) return !options.visible || options.visible(event);
      return sight == Sight::kShown && (!options.ids_only->shows || options.ids_only->shows(event.id()));
    }

    std::vector<Event> answer_;
    size_t next_ = 0;
    Moment moment_;
    bool complete_ = true;
    std::shared_ptr<std::atomic<size_t>> open_;
    std::shared_ptr<std::atomic<size_t>> suspensions_;
    std::shared_ptr<std::atomic<bool>> throws_;
    std::shared_ptr<std::atomic<uint64_t>> held_bytes_;
    const Work event_work_;
    std::shared_ptr<std::atomic<Work>> match_work_;
    Work matched_work_ = 0;
  };

  bool HasLocked(const EventId& id) const {
    return std::ranges::any_of(saved_, [&](const Event& event) { return event.view().id() == id; });
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_saves_ = false;
  std::string save_error_;
  std::atomic<bool> in_doubt_ = false;
  bool saves_throw_ = false;
  bool reads_throw_ = false;
  SaveOutcome outcome_ = SaveOutcome::kSaved;
  std::vector<Event> saved_;
  std::shared_ptr<std::atomic<size_t>> queries_open_ = std::make_shared<std::atomic<size_t>>(0);
  std::shared_ptr<std::atomic<size_t>> suspensions_ = std::make_shared<std::atomic<size_t>>(0);
  std::shared_ptr<std::atomic<uint64_t>> held_bytes_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<std::atomic<bool>> throws_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<Work> event_work_ = kRecordWork;
  std::atomic<bool> has_groups_ = true;
  std::shared_ptr<std::atomic<Work>> match_work_ = std::make_shared<std::atomic<Work>>(0);
};

}  // namespace weir
