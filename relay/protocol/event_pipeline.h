// EventPipeline: handles an EVENT between its message and its OK.
//
// A worker parses the event, which checks its id, then asks the policy, then whether it is stored already, and verifies
// the signature last, as it costs most. Ephemeral events go straight to the live subscribers. The others pass the write
// gate and are saved by the group commit; the answers of a write, and the events that it saved, go back together.
//
// Every event gets exactly one answer, whatever happens: an OK, or a NOTICE if no id could be read.
//
// Threads: Submit may be called from any thread. The answers come through Delivery.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/protocol/identity.h"
#include "relay/protocol/relay_context.h"
#include "relay/store/group_commit.h"

namespace weir {

// Events that one task judges; at 50 µs each it takes 0.2 ms. With 8 events a turn of the storm's senders took twice as
// long.
struct EventBatch {
  static constexpr size_t kMost = 4;

  std::shared_ptr<EventSender> sender;
  Party party;
  std::shared_ptr<const Identity> identity = Identity::Nobody();
  TimePoint received;
  std::string texts;  // one after the other
  std::array<uint32_t, kMost> ends{};
  size_t count = 0;

  void Add(std::string_view text) {
    texts.append(text);
    ends[count++] = static_cast<uint32_t>(texts.size());
  }
  std::string_view text(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(texts).substr(begin, ends[i] - begin);
  }
  // Bytes that the caller takes from the byte budget and the pipeline gives back.
  uint64_t budget_bytes() const { return texts.size() + count * kOverheadBytes; }
  static constexpr uint64_t kOverheadBytes = 512;
};

class EventPipeline {
 public:
  explicit EventPipeline(RelayContext& context);
  // Calls Stop.
  ~EventPipeline();

  void Submit(std::shared_ptr<const EventBatch> batch);

  // Delivers events that came to another relay on the same store to the live subscribers here. Calls `done` when they
  // are on their way: at once or, while the subscribers are behind, on the thread that gives bytes back to the budget;
  // never after the end.
  void DeliverShared(std::vector<LiveEvent> events, std::function<void()> done);

  // Saves events of an import: see GroupCommit::SaveBulk. They are counted, but not delivered to live subscribers, who
  // would drown in that much history.
  Status SaveBulk(std::span<const Event> events, std::span<SaveResult> results);

  // Saves the events that wait for it and ends the commit thread; later events are answered "error: …". The owner has
  // to drain the pool.
  void Stop();

  // Returns why the newest write failed, for some seconds after the failure. Not for ever: while a relay says that it
  // is not ready, it may get no writes, and only a write can show that it is ready again.
  Status LastWrite() const;
  // Describes the newest write that failed and how long ago; "none" if none has failed.
  std::string LastFailure() const;
  GroupCommitStats CommitStats() const { return commit_.Stats(); }

 private:
  struct Flight;
  struct Judged;
  struct Verdict {
    bool accepted = false;
    std::string text;
  };
  // Work that was done for addresses and is not paid yet.
  class Debts {
   public:
    void Add(const Party& party, Work work);
    // Takes at most the debt that one event is made to pay.
    Work Take(const Party& party);

   private:
    std::mutex mutex_;
    std::unordered_map<uint64_t, Work> of_groups_;
  };

  void JudgeAll(const EventBatch& batch);
  void Read(const EventBatch& batch, std::string_view text, std::unique_ptr<EventParser>* parser, Judged* judged,
            std::vector<std::shared_ptr<Flight>>* flights);
  void JudgeNew(const std::vector<std::shared_ptr<Flight>>& flights, Judged* judged);
  void AskGate(const std::shared_ptr<Flight>& flight, Judged* judged);
  Work GateWorkOf(EventView event) const;
  void AfterWait(const std::shared_ptr<Flight>& flight);
  void Admitted(const std::shared_ptr<Flight>& flight, Judged* judged);
  void RefusedByGate(Flight& flight, Judged* judged);
  void Settle(Flight& flight, const Verdict& verdict, Judged* judged);
  void Finish(Judged* judged);
  void OnWritten(GroupCommit::Submissions settled, const Status& status);
  void Written(Flight& flight, const Status& status, Judged* judged);
  void NoteWrite(const Status& status);
  static Verdict VerdictOf(SaveOutcome outcome);
  static void EndSpan(Span* span, const Verdict& verdict);
  Answer AnswerTo(std::shared_ptr<EventSender> sender, TimePoint received, std::string_view id_hex,
                  const Verdict& verdict);

  std::unique_ptr<EventParser> TakeParser();
  void PutBack(std::unique_ptr<EventParser> parser);

  RelayContext& context_;
  const EventLimits limits_;

  Debts debts_;

  std::mutex parsers_mutex_;
  std::vector<std::unique_ptr<EventParser>> parsers_;

  mutable std::mutex write_mutex_;
  Status last_write_;
  Status failure_;  // status of the newest write that failed
  TimePoint last_failure_{};

  GroupCommit commit_;  // last: its thread uses the others
};

}  // namespace weir
