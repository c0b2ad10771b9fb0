// A store that does as it is told: it hangs, fails, and remembers in which order it was called.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
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
  // Empty: no more failures.
  void FailSaves(std::string message) { Set(&ScriptedStore::save_error_, std::move(message)); }
  void FailSweeps(std::string message) { Set(&ScriptedStore::sweep_error_, std::move(message)); }
  void SetExpired(uint64_t events) { Set(&ScriptedStore::expired_, events); }

  // Until a Save hangs.
  void WaitForSave() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return in_save_; });
  }
  void WaitForLog(const std::string& log) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return log_ == log; });
  }
  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  std::vector<std::string> saved_ids() const {
    const std::lock_guard lock(mutex_);
    return saved_ids_;
  }

  Status Save(std::span<const Event> events, uint64_t, std::span<SaveResult> results) override {
    std::unique_lock lock(mutex_);
    Log("save " + std::to_string(events.size()));
    in_save_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hold_saves_; });
    in_save_ = false;
    if (!save_error_.empty()) return Status::Error(save_error_);
    for (size_t i = 0; i < events.size(); ++i) {
      saved_ids_.push_back(ToHex(events[i].view().id()));
      results[i] = {SaveOutcome::kSaved, saved_ids_.size()};
    }
    return {};
  }

  Result<uint64_t> SweepExpired(uint64_t, uint32_t max) override {
    std::unique_lock lock(mutex_);
    Log("sweep");
    changed_.wait(lock, [this] { return !hold_sweeps_; });
    if (!sweep_error_.empty()) return Status::Error(sweep_error_);
    const uint64_t removed = std::min<uint64_t>(expired_, max);
    expired_ -= removed;
    return removed;
  }

  Result<bool> Has(const EventId&) const override { return false; }
  Result<bool> HasSigned(EventView) const override { return false; }
  std::unique_ptr<Query> Find(std::vector<Filter>, const QueryOptions&) const override { return nullptr; }
  Result<uint64_t> Delete(std::span<const EventId>) override { return uint64_t{0}; }
  Status ScanAll(uint64_t, const std::function<bool(uint64_t, EventView)>&) const override { return {}; }
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
  std::string sweep_error_;
  uint64_t expired_ = 0;
  std::string log_;
  std::vector<std::string> saved_ids_;
};

}  // namespace weir
