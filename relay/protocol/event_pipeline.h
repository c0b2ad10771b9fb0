// EventPipeline: handles EVENT messages from their text to their answer.
//
// A worker parses the event and checks its id, applies the rules of policy.h and those of the operator (relay/rules/),
// checks whether the event is stored already, and verifies the signature last, because that costs most. A long search
// for the operator's words gives up the worker after about a millisecond, and goes on in its address's next turn. Then
// the event is counted against the operator's rates, and refused if the disk budget has no room for it
// (relay/retention/disk_budget.h). If the operator has a write plugin, it then judges the new and
// valid event (relay/plugins/policy_plugin.h). If the author's standing is low and the relay is under pressure, the
// event first needs a part of the strangers' share (relay/standing/ladder.h). An event that passes needs the admission
// of the write gate, which limits writes to the rate that the database can sustain (throttle/adaptive_limiter.h): the
// gate admits it at once, delays it or refuses it. An admitted ephemeral event goes to the live subscribers. The commit
// thread saves every other admitted event, together with events of other clients, in one write
// (relay/store/group_commit.h). After each write, the pipeline passes the answers and the saved events to Delivery.
//
// Every event gets exactly one answer: an OK message, or a NOTICE if no id could be read.
//
// Threads: all functions may be called from any thread; SaveBulk, RemoveBulk and Stop block their callers. The answers
// come through Delivery, on the senders' I/O threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/mutex.h"
#include "relay/nostr/event_parser.h"
#include "relay/protocol/identity.h"
#include "relay/protocol/relay_context.h"
#include "relay/protocol/removal_debts.h"
#include "relay/protocol/write_health.h"
#include "relay/rules/rules.h"
#include "relay/store/group_commit.h"

namespace weir {

struct PluginVerdict;

// Events of one sender. One task on a worker thread checks them together.
struct EventBatch {
  // The most events of a batch. At 50 µs for each event, the task takes 0.2 ms. With 8 events, each sender waited twice
  // as long for its turn in the benchmark scenario `storm`.
  static constexpr size_t kMost = 4;

  std::shared_ptr<EventSender> sender;
  Party party;
  std::optional<AddressBytes> address;                            // the sender's, for the rules
  std::shared_ptr<const Identity> identity = Identity::Nobody();  // the keys that the sender proved before the events
  TimePoint received;
  std::string texts;                   // the JSON of all events, without separators
  std::array<uint32_t, kMost> ends{};  // the end of each event in `texts`
  size_t count = 0;

  RuleClient rule_client() const { return {.proved = identity->keys(), .address = address}; }
  // Appends the JSON of an event. `count` must be below kMost.
  void Add(std::string_view text) {
    texts.append(text);
    ends[count++] = static_cast<uint32_t>(texts.size());
  }
  std::string_view text(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(texts).substr(begin, ends[i] - begin);
  }
  // Returns the bytes that the caller must take from the byte budget (ByteBudget::Take) before Submit. The pipeline
  // passes them to ByteBudget::GiveBack; the sender passes them to ByteBudget::Answered when it gets the answers.
  uint64_t budget_bytes() const { return texts.size() + count * kOverheadBytes; }
  static constexpr uint64_t kOverheadBytes = 512;
};

class EventPipeline {
 public:
  // Starts the commit thread. `context` must outlive the pipeline.
  explicit EventPipeline(RelayContext& context);
  // Calls Stop.
  ~EventPipeline();

  // Queues the batch for a worker, which changes it: the caller must not use the batch any more.
  void Submit(std::shared_ptr<EventBatch> batch);

  // Delivers events to the live subscribers of this relay; another relay on the same store has received the events.
  // First takes the events' bytes from the byte budget, so the events wait while subscribers are behind. Calls `done`
  // once, after it has passed the events to Delivery, or has logged that it could not: before DeliverShared returns if
  // the bytes are free, otherwise later, on the thread that returns bytes to the budget. Never calls `done` if
  // ByteBudget::ForgetWaiting drops the request.
  void DeliverShared(std::vector<LiveEvent> events, std::function<void()> done);

  // Saves events of an import with GroupCommit::SaveBulk, and returns its status. Refuses those that administrators
  // have banned, and, if imports ask the write plugin, those that it does not accept (save_allowed.h). Counts the saved
  // events in the metrics but does not deliver them to live subscribers, because these are old events; only watchers
  // (LiveWatcher) see them.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results) {
    return SaveBulk(events, results, /*are_news=*/false);
  }
  // Does the same with events of another relay, some of which may be new to subscribers. Those whose created_at is
  // `news_since` or later are saved as news (GroupCommit::SaveBulk), and the saved ones delivered with DeliverShared,
  // which gets `delivered`. Does not call it if there are none.
  Status SaveNews(std::span<const Event> events, std::span<SaveResult> results, uint64_t news_since,
                  std::function<void()> delivered);

  // Removes the events with these ids with GroupCommit::RemoveBulk, as bulk work, and returns their number. Deletion
  // requests of authors are unaffected, and the events can be saved again.
  Result<uint64_t> RemoveBulk(std::span<const EventId> ids, const std::atomic<bool>* cancelled = nullptr) {
    return commit_.RemoveBulk(ids, cancelled);
  }

  // Saves the events that wait to be saved, except deletions that need a further write, and ends the commit thread.
  // Such a deletion, or an event that comes later and would have to be saved, is answered "error: could not be stored:
  // …"; other events are answered as before. The workers may still have tasks of this pipeline; the pool must have run
  // all of them before the pipeline is destroyed.
  void Stop();

  // Returns the object that knows whether writes to the store succeed.
  const WriteHealth& write_health() const { return write_health_; }
  GroupCommitStats CommitStats() const { return commit_.Stats(); }
  // Returns the commit thread, for changes of the store that are no events of clients.
  GroupCommit& commit() { return commit_; }

 private:
  struct Flight;
  struct Judged;
  struct Judging;
  struct Verdict {
    bool accepted = false;
    std::string text;
  };
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news);
  Status SaveUnbannedBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news);
  Status SaveAllBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news);
  Work JudgeAll(const std::shared_ptr<Judging>& judging, Work expected);
  void Read(std::string_view text, std::unique_ptr<EventParser>* parser, Judging* judging);
  Work SearchWords(const std::shared_ptr<Judging>& judging);
  void SearchPiece(Flight& flight, Judged* judged);
  void JudgeNew(const EventBatch& batch, const std::vector<std::shared_ptr<Flight>>& flights, Judged* judged);
  Ruling TakeRates(const EventBatch& batch, Flight& flight);
  std::string RefusalForRoom(const Flight& flight) const;
  void AskPlugin(const std::shared_ptr<Flight>& flight);
  void AfterPlugin(const std::shared_ptr<Flight>& flight, const PluginVerdict& verdict);
  // A step of an event that a gate has admitted.
  using Step = void (EventPipeline::*)(const std::shared_ptr<Flight>& flight, Judged* judged);
  void AskGate(const std::shared_ptr<Flight>& flight, Judged* judged);
  void AskWriteGate(const std::shared_ptr<Flight>& flight, Judged* judged);
  Work SavingWork(EventView event) const;
  Work GateWorkOf(EventView event) const;
  void Follow(const std::shared_ptr<Flight>& flight, Step next, Judged* judged);
  void AfterWait(const std::shared_ptr<Flight>& flight, Step next);
  void Admitted(const std::shared_ptr<Flight>& flight, Judged* judged);
  void RefusedByGate(Flight& flight, Judged* judged);
  void CountAtLadder(const Flight& flight, bool refused);
  void Settle(Flight& flight, const Verdict& verdict, Judged* judged);
  void Finish(Judged* judged);
  void OnWritten(GroupCommit::Submissions settled, const Status& status);
  void Written(Flight& flight, const Status& status, Judged* judged);
  static Verdict VerdictOf(SaveOutcome outcome);
  static void EndSpan(Span* span, const Verdict& verdict);
  Answer AnswerTo(std::shared_ptr<EventSender> sender, TimePoint received, std::string_view id_hex,
                  const Verdict& verdict);

  std::unique_ptr<EventParser> TakeParser();
  void PutBack(std::unique_ptr<EventParser> parser);

  RelayContext& context_;
  const EventLimits limits_;

  RemovalDebts debts_;
  WriteHealth write_health_;

  Mutex parsers_mutex_;
  std::vector<std::unique_ptr<EventParser>> parsers_ WEIR_GUARDED_BY(parsers_mutex_);

  GroupCommit commit_;  // the last member, because its thread uses the other members
};

}  // namespace weir
