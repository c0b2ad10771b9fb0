// ScriptedStore: a store that a test can make hang or fail, and that records the order of the calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/event_store.h"

namespace weir {

class ScriptedStore final : public EventStore {
 public:
  void HoldSaves() { Set(&ScriptedStore::hold_saves_, true); }
  void LetSavesGo() { Set(&ScriptedStore::hold_saves_, false); }
  void HoldSweeps() { Set(&ScriptedStore::hold_sweeps_, true); }
  void LetSweepsGo() { Set(&ScriptedStore::hold_sweeps_, false); }
  // Makes saves fail with this error. An empty message ends the failures.
  void FailSaves(std::string message) { Set(&ScriptedStore::save_error_, std::move(message)); }
  // Makes saves fail whose first event is this one. A save that reaches this event later ends before it.
  void FailSavesFrom(std::string id) { Set(&ScriptedStore::fails_from_, std::move(id)); }
  void FailSweeps(std::string message) { Set(&ScriptedStore::sweep_error_, std::move(message)); }
  void FailSearch(std::string message) { Set(&ScriptedStore::search_error_, std::move(message)); }
  uint64_t search_pieces() const {
    const std::lock_guard lock(mutex_);
    return search_pieces_;
  }
  void FailVanishing(std::string message) { Set(&ScriptedStore::vanish_error_, std::move(message)); }
  static constexpr uint64_t kSweptAtOnce = 256;
  static constexpr size_t kDeletedAtOnce = 2;
  void FailDeletions(std::string message) { Set(&ScriptedStore::delete_error_, std::move(message)); }
  void SetExpired(uint64_t events) { Set(&ScriptedStore::expired_, events); }
  // Returns the time that was passed to the last sweep.
  uint64_t expired_by() const {
    const std::lock_guard lock(mutex_);
    return expired_by_;
  }
  // Returns the time that was passed to the last save.
  uint64_t saved_by() const {
    const std::lock_guard lock(mutex_);
    return saved_by_;
  }
  void ThrowInSaves(bool does) { Set(&ScriptedStore::save_throws_, does); }
  // Makes the store treat every saved event as a request to vanish.
  void SaveRequestsToVanish() { Set(&ScriptedStore::vanishes_, true); }
  // Sets a function that is called on the saving thread, at the beginning of a save and after its success.
  void WhenSaving(std::function<void(bool begins)> saving) { Set(&ScriptedStore::saving_, std::move(saving)); }
  // Makes this event need this many saves.
  void SaveInPieces(const std::string& id, int pieces) {
    const std::lock_guard lock(mutex_);
    pieces_left_[id] = pieces;
  }

  // Sets the work of removal that this event causes.
  void RemoveFor(const std::string& id, Work work) {
    const std::lock_guard lock(mutex_);
    removals_[id] = work;
  }

  // Waits until a Save hangs. Fails the test after a minute.
  void WaitForSave() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [this] { return in_save_; }));
  }
  // Waits until the log is this one. Fails the test after a minute.
  void WaitForLog(const std::string& log) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return log_ == log; }))
        << "the log is not '" << log << "' but '" << log_ << "'";
  }
  void ForgetLog() { Set(&ScriptedStore::log_, std::string()); }
  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  std::vector<std::string> saved_ids() const {
    const std::lock_guard lock(mutex_);
    return saved_ids_;
  }

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work,
                          std::span<SaveResult> results) override {
    std::unique_lock lock(mutex_);
    saved_by_ = now_seconds;
    if (saving_) saving_(true);
    Log("save " + std::to_string(events.size()));
    in_save_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hold_saves_; });
    in_save_ = false;
    if (save_throws_) throw std::bad_alloc();
    if (!save_error_.empty()) return Status::Error(save_error_);
    const auto is_long = [this](const Event& event) { return pieces_left_.contains(ToHex(event.view().id())); };
    size_t settled = 0;
    for (; settled < events.size(); ++settled) {
      const std::string id = ToHex(events[settled].view().id());
      if (id == fails_from_ && settled == 0) return Status::Error("a damaged block");
      if (id == fails_from_) break;
      SaveResult& result = results[settled];
      if (is_long(events[settled]) && --pieces_left_[id] > 0) {
        ++result.tags_done;
        break;
      }
      saved_ids_.push_back(id);
      const auto removal = removals_.find(id);
      result = {SaveOutcome::kSaved,
                {.number = saved_ids_.size()},
                result.tags_done,
                removal == removals_.end() ? 0 : removal->second,
                vanishes_};
    }
    if (saving_) saving_(false);
    return settled;
  }

  Result<OwedPiece> RemoveVanished(Work) override {
    std::unique_lock lock(mutex_);
    Log("vanish");
    changed_.wait(lock, [this] { return !hold_sweeps_; });
    if (!vanish_error_.empty()) return Status::Error(vanish_error_);
    return OwedPiece();
  }

  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work) override {
    std::unique_lock lock(mutex_);
    expired_by_ = now_seconds;
    Log("sweep");
    changed_.wait(lock, [this] { return !hold_sweeps_; });
    if (!sweep_error_.empty()) return Status::Error(sweep_error_);
    const uint64_t removed = std::min<uint64_t>(expired_, kSweptAtOnce);
    expired_ -= removed;
    return OwedPiece{.removed = removed, .more = expired_ > 0};
  }

  Result<OwedPiece> BuildSearch(Work) override {
    const std::lock_guard lock(mutex_);
    ++search_pieces_;
    if (!search_error_.empty()) return Status::Error(search_error_);
    return OwedPiece();
  }

  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override {
    return std::vector<bool>(ids.size());
  }
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override {
    return std::vector<bool>(events.size());
  }
  std::unique_ptr<Query> Find(std::vector<Filter>, const QueryOptions&) const override { return nullptr; }
  // Removes all events that it is asked for, kDeletedAtOnce in each call.
  Result<OwedPiece> DeleteSome(std::span<const EventId>* ids, Work) override {
    const std::unique_lock lock(mutex_);
    const size_t some = std::min(ids->size(), kDeletedAtOnce);
    Log("delete " + std::to_string(some));
    if (!delete_error_.empty()) return Status::Error(delete_error_);
    *ids = ids->subspan(some);
    return OwedPiece{.removed = some, .more = !ids->empty()};
  }
  Result<Moment> Now() const override { return Moment(); }
  Status ScanAll(const Moment&, const Moment&, const std::function<bool(Serial, EventView)>&) const override {
    return {};
  }
  Status Flush() override { return {}; }
  StoreSizes Sizes() const override { return {}; }

 private:
  template <typename T>
  void Set(T ScriptedStore::*member, T value) {
    const std::lock_guard lock(mutex_);
    this->*member = std::move(value);
    changed_.notify_all();
  }
  void Log(const std::string& what) {
    log_ += (log_.empty() ? "" : ", ") + what;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_saves_ = false;
  bool hold_sweeps_ = false;
  bool in_save_ = false;
  std::string save_error_;
  std::string fails_from_;
  std::string sweep_error_;
  std::string search_error_;
  uint64_t search_pieces_ = 0;
  std::string vanish_error_;
  std::string delete_error_;
  uint64_t expired_ = 0;
  uint64_t expired_by_ = 0;
  uint64_t saved_by_ = 0;
  bool save_throws_ = false;
  bool vanishes_ = false;
  std::map<std::string, Work> removals_;
  std::function<void(bool)> saving_;
  std::map<std::string, int> pieces_left_;
  std::string log_;
  std::vector<std::string> saved_ids_;
};

}  // namespace weir
