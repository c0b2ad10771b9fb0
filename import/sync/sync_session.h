// SyncSession: makes the events of one filter equal here and at another relay, over one connection. It compares the two
// sets (negentropy_rounds.h, or page_walk.h if the relay does not know NIP-77), and meanwhile gets the events that only
// the relay has and sends those that only this store has. It takes only events that match the filter.
//
// The session reads the ids and dates of its own events once, at its beginning: an event that is deleted here later may
// still be sent. If it has more events than the relay compares at once, by its NIP-11 document, it compares several
// spans of time, the youngest first, which have about the same number of own events. If the relay refuses a span
// because it has too many events, the session divides the span.
//
// The session ends with an error if the connection does, or if the relay is silent for kLongestSilence while something
// is under way. What has gone over by then stays; a further session goes on.
//
// Threads: one thread runs a session.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "import/sync/event_fetch.h"
#include "import/sync/event_offer.h"
#include "import/sync/negentropy_rounds.h"
#include "import/sync/page_walk.h"
#include "import/sync/remote_relay.h"
#include "import/sync/sync_counts.h"
#include "relay/nostr/event_parser.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/event_store.h"

namespace weir {

struct SyncParts {
  RemoteRelay& relay;
  const EventStore& store;
  Filter filter;  // without a limit and a search
  SyncDirection direction = SyncDirection::kBoth;
  bool dry_run = false;     // only compares
  EventLimits limits = {};  // for reading the relay's events
  EventFetch::Take take;    // gets the JSON of each event of the relay that the store lacks, not checked
  std::function<void(const SyncCounts& counts)> on_progress;  // called a few times a second
  BulkReads* reads = nullptr;                                 // reads the own events; null: without waiting
  // Called with the id of each event before it is sent.
  std::function<void(const EventId& id)> on_sent = [](const EventId&) {};
  // Gets the relay's messages that are not of the session.
  std::function<Status(const RelayMessage& message)> on_other = [](const RelayMessage&) { return Status(); };
};

class SyncSession {
 public:
  static constexpr Duration kLongestSilence = std::chrono::seconds(60);
  // The time for the answer to NEG-OPEN: of a relay that says in its NIP-11 document that it knows NIP-77, and may have
  // to read millions of events first; of one whose document lists other NIPs alone; and of any other, which may ignore
  // the message.
  static constexpr Duration kLongestReading = std::chrono::minutes(10);
  static constexpr Duration kLongestDoubt = std::chrono::seconds(5);
  static constexpr Duration kLongestGuess = std::chrono::seconds(20);
  // Rounds that bring no new difference, one after the other; a relay that answers rightly needs a few.
  static constexpr int kMostIdleRounds = 1000;
  // Events that the relay announces and does not give. Those that it deletes meanwhile are among them.
  static constexpr uint64_t kMostMissing = 100'000;

  explicit SyncSession(SyncParts parts);
  SyncSession(const SyncSession&) = delete;
  SyncSession& operator=(const SyncSession&) = delete;

  Status Run();
  // Returns what the session has done, also after an error.
  SyncCounts counts() const;

 private:
  // The relay chooses the ids that it announces, so the hash has a key that it does not know.
  struct IdHash {
    size_t operator()(const EventId& id) const {
      std::array<uint64_t, 4> words{};
      std::memcpy(words.data(), id.data(), sizeof words);
      uint64_t hash = 0;
      for (size_t i = 0; i < words.size(); ++i) hash += key[i] * (words[i] ^ (words[i] >> 32));
      return hash ^ (hash >> 32);
    }
    std::array<uint64_t, 4> key;  // odd numbers
  };
  struct Times {
    uint64_t since;
    uint64_t until;
  };
  // The comparison of a span of time.
  struct Span {
    Span(Filter compared, SyncPart events, const IdHash& hash)
        : filter(std::move(compared)), own(events), known(0, hash) {}

    const Filter filter;
    const SyncPart own;
    NegentropyRounds rounds{own};
    std::unordered_set<EventId, IdHash> known;  // differences that were found; a comparison may find one again
    uint64_t last_round = 0;
    int idle_rounds = 0;
    std::optional<PageWalk> pages;
    bool pages_are_read = false;  // and the events that they did not show are offered

    bool is_compared() const { return pages ? pages_are_read : rounds.is_done(); }
  };

  void CutBySize();
  bool Divide(const Span& span);
  Status RunSpan();
  void AddSpan(SyncCounts* counts) const;
  Status ReadOwn();
  Status Step();
  Status Compare();
  Status CompareSets();
  Status ComparePages();
  void Found(std::span<const EventId> have, std::span<const EventId> need);
  Status OnMessage(const RelayMessage& message);
  Status Take(std::string_view json);
  Status TakeMatching(std::string_view json);
  Status OnSilence();
  Status OnRefusal();
  Status TurnToPages(const std::string& why);
  bool IsDone() const { return span_->is_compared() && fetch_.is_idle() && offer_.is_idle(); }
  bool wants_down() const { return !parts_.dry_run && GoesDown(parts_.direction); }
  bool wants_up() const { return !parts_.dry_run && GoesUp(parts_.direction); }

  const SyncParts parts_;
  const std::function<Status(std::string_view message)> say_;
  const IdHash hash_;
  SyncSet own_;
  std::vector<Times> to_compare_;  // the youngest last
  std::unique_ptr<Span> span_;     // the one that is under way
  bool was_cut_ = false;           // the span is compared in parts instead
  int cuts_ = 0;                   // the number of spans that were divided, because the relay refused them
  EventFetch fetch_;
  EventOffer offer_;
  EventParser parser_;
  SyncCounts counts_;  // without those of the objects above
  TimePoint heard_;
};

}  // namespace weir
