// Moderation: the decisions of administrators while the relay runs, such as bans. Every decision is stored in the
// EventStore, and logged with the name of the administrator who made it. On PostgreSQL a decision holds for all relays
// of the database within a second.
//
//   Moderation moderation(store, commit, rules, is_administrator);
//   if (Status opened = moderation.Open(); !opened.ok()) …
//   Status banned = moderation.Decide({.list = DecisionList::kBannedAuthors, .subject = hex, .by = "npub1…"});
//
// The lists act through RulesInForce (relay/rules/rules_in_force.h), which asks them beside the rules of weir.yaml. A
// ban hides the events of an author at once; the commit thread then removes them in pieces, as bulk work. A later unban
// ends the removal, and does not bring back events that are removed by then.
//
// Threads: any thread may call any function; Open and Stop belong to the owner. Decide, Revoke and Import wait for the
// disk or the database server, so no I/O thread may call them: call them on a worker.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "relay/moderation/ban_removals.h"
#include "relay/moderation/decision.h"
#include "relay/moderation/decision_book.h"
#include "relay/observe/metrics/metric_families.h"

namespace weir {

class EventStore;
class GroupCommit;
class RulesInForce;

class Moderation {
 public:
  using Removal = BanRemovals::Removal;

  // Administrators cannot be banned; `is_administrator` may be called from any thread. `store`, `commit`, `rules` and
  // the clock must outlive the object.
  Moderation(EventStore& store, GroupCommit& commit, RulesInForce& rules,
             std::function<bool(const PublicKey& key)> is_administrator, const WallClock& clock = WallClock::System());
  // Calls Stop.
  ~Moderation();

  // Reads the decisions of the store, puts them in force, and follows those of other relays on the same database. Call
  // it once, before the commit is stopped.
  Status Open();
  // Ends the removals, which go on after the next start, and the following. The lists stay in force. May be called more
  // than once.
  void Stop();

  // Puts the decision into its list, in place of one about the same subject, and takes the subject out of the opposite
  // list. Sets `at_seconds` to the present time if it is 0. The decision is on disk and holds when the call returns.
  // Returns an error if the subject is wrong, the list is full, or the store failed; then nothing has changed, unless
  // a database server has carried out a write without answering.
  Status Decide(ModerationDecision decision);
  // Takes the subject out of the list, in any spelling that Decide takes. Returns false if it is not there. A role that
  // is revoked takes its members with it; if the store fails, only some of them may be gone, and the role is still
  // there.
  Result<bool> Revoke(DecisionList list, std::string_view subject, std::string_view by);

  // Returns at most `most` decisions of the list in the order of their subjects, from the first one after `after` on.
  std::vector<ModerationDecision> List(DecisionList list, std::string_view after, size_t most) const {
    return book_.List(list, after, most);
  }
  std::optional<ModerationDecision> Find(DecisionList list, std::string_view subject) const;
  size_t size(DecisionList list) const { return book_.size(list); }
  // Returns the text of kRelayTexts with this name: "name", "description" or "icon". Null: the setting holds.
  std::optional<std::string> Text(std::string_view name) const;

  // Returns the removals that go on, and the last ones that are done since the start, oldest first.
  std::vector<Removal> Removals() const { return removals_.List(); }

  // Returns all decisions as a document (decision_document.h) that Import takes.
  std::string Export() const;
  // Adds the decisions of the document to those that are there. Returns their number. If one of them is wrong, or a
  // list would be too long, adds none; the error names the decision. Many decisions take several writes, so if the
  // store fails, some may hold already; the document can then be imported again. `by` stands in for a decision's own
  // "by" if that is missing.
  Result<size_t> Import(std::string_view json, std::string_view by);

  // Adds the figures weir_moderation_….
  void AppendMetrics(MetricFamilies& families) const;

 private:
  using Changes = DecisionChanges;

  // The time between two looks at the decisions of other relays on the same database.
  static constexpr std::chrono::milliseconds kLookEvery{400};

  Status Plan(ModerationDecision decision, Changes* changes) const WEIR_REQUIRES(change_mutex_);
  Status Check(const Changes& changes) const WEIR_REQUIRES(change_mutex_);
  Status Make(Changes changes) WEIR_REQUIRES(change_mutex_);
  Status MakeInOneWrite(const Changes& changes) WEIR_REQUIRES(change_mutex_);
  Status CatchUp() WEIR_REQUIRES(change_mutex_);
  Status CatchUpWithOthers() WEIR_REQUIRES(change_mutex_);
  void Follow();
  void PutInForce(const Changes& changes) WEIR_REQUIRES(change_mutex_);
  void PutShortListsInForce() WEIR_REQUIRES(change_mutex_);
  bool Has(DecisionList list, const std::string& subject, const Changes& changes) const;

  EventStore& store_;
  GroupCommit& commit_;
  RulesInForce& rules_;
  const std::function<bool(const PublicKey& key)> is_administrator_;
  const WallClock& clock_;
  BanRemovals removals_;
  std::array<std::atomic<uint64_t>, kDecisionLists> changes_made_{};  // by this relay's administrators

  // Held while changes are planned, written and put in force, so they come one after the other.
  mutable Mutex change_mutex_;
  uint64_t revision_ WEIR_GUARDED_BY(change_mutex_) = 0;  // the revision of the memos that were read last

  DecisionBook book_;  // changed only under change_mutex_

  Mutex stop_mutex_;
  Condition stopped_;
  bool stopping_ WEIR_GUARDED_BY(stop_mutex_) = false;
  std::thread follower_;  // only if other relays may write to the store; the last member, because it uses the others
};

}  // namespace weir
