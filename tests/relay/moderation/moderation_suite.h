// ModerationSuite: a Moderation on each kind of store, with the rules and the commit thread that it acts through. The
// wall clock stands still until a test moves it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/moderation/moderation.h"
#include "relay/rules/rules_in_force.h"
#include "relay/store/group_commit.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/held_gate.h"
#include "tests/fixtures/postgres_process.h"
#include "tests/relay/store/postgres/each_store.h"

namespace weir {

// A relay's parts, as far as moderation needs them, on a store that outlives them.
class ModeratedRelay {
 public:
  static constexpr uint64_t kStart = 1'700'000'000;

  ModeratedRelay(EventStore& store, const std::string& administrator, PacedRemovals::Admit admit = {})
      : commit_(
            store, [](GroupCommit::Submissions, const Status&) {}, {}, clock, std::move(admit)),
        moderation_(std::make_unique<Moderation>(
            store, commit_, rules, [administrator](const PublicKey& key) { return ToHex(key) == administrator; },
            clock)) {
    const Status opened = moderation_->Open();
    EXPECT_TRUE(opened.ok()) << opened.message();
  }
  ~ModeratedRelay() { moderation_.reset(); }

  Moderation& operator*() { return *moderation_; }
  Moderation* operator->() { return moderation_.get(); }

  // Returns the message of the error, or an empty text.
  std::string Put(DecisionList list, const std::string& subject, const std::string& detail = "") {
    return moderation_->Decide({.list = list, .subject = subject, .reason = "why", .detail = detail, .by = "me"})
        .message();
  }
  // Saves the events as those of clients.
  void Save(const std::vector<Event>& events) {
    std::vector<SaveResult> results(events.size());
    const Status saved = commit_.SaveBulk(events, results);
    EXPECT_TRUE(saved.ok()) << saved.message();
  }
  // Lets the commit thread look for removals, as it does once a minute.
  void LookAgain() {
    EXPECT_TRUE(commit_.Perform([] { return Status(); }).ok());
  }
  bool IsRemoved(size_t events) {
    const auto removals = moderation_->Removals();
    return !removals.empty() && removals.back().done && removals.back().removed >= events;
  }
  std::string RefusalOf(const Event& event) { return rules.JudgeEvent(event.view(), {}, kStart).reason; }

  ManualWallClock clock{kStart};
  RulesInForce rules;

 private:
  GroupCommit commit_;
  std::unique_ptr<Moderation> moderation_;
};

class ModerationSuite : public EachStoreTest {
 protected:
  void Start() override { relay_ = std::make_unique<ModeratedRelay>(*store_, Author(99), gate_.Admit()); }
  // Opens everything anew, as after a restart.
  void Restart() {
    relay_.reset();
    store_.reset();
    store_ = place_->Open();
    ASSERT_NE(store_, nullptr);
    Start();
  }
  static std::vector<Event> NotesOf(uint64_t author, size_t count) {
    std::vector<Event> events;
    for (size_t n = 0; n < count; ++n) events.push_back(ToEvent(Plain(Author(author), 1000 + n, 1)));
    return events;
  }
  ModeratedRelay& relay() { return *relay_; }

  HeldGate gate_;
  std::unique_ptr<ModeratedRelay> relay_;
};

}  // namespace weir
