// Delivery: passes the results of workers and of the commit thread (relay/store/group_commit.h) to the I/O threads. The
// senders of events get the answers. The live subscribers, that is, the clients with an open REQ, get the new events
// that match their filters. Each call of Deliver posts at most one task to each I/O thread.
//
// An I/O thread sends answers first. It then matches events with its subscriptions, in slices of about a millisecond of
// work (kTurnWork), and serves its sockets between the slices. Each I/O thread has one or more lanes. A lane consists
// of subscriptions, and of a queue of events that were not yet matched with these subscriptions.
//
// - All addresses share one lane of the thread. Events that wait in the shared lane keep the bytes that they have taken
//   from the byte budget (relay/account/byte_budget.h). So clients that send events faster than the relay can match
//   them have to wait.
// - The subscriptions of one address must not slow down the clients of other addresses. So a subscription enters the
//   shared lane only if matching one event with all subscriptions that its address then has there may cost at most a
//   quarter of a slice. Otherwise it enters a lane of the address's own. Events that wait in such a lane hold no bytes
//   of the byte budget; their bytes count for the address's account (relay/account/ledger.h). Delivery ends the lane's
//   subscriptions if more than 16 MiB wait, if the address may not hold more bytes, or if the address has to free
//   memory.
//
// The lanes that have events take turns, each of at most a quarter of a slice. Every other turn goes to the shared
// lane, if it has events, and the other lanes share the rest evenly.
//
// A client misses no event between the stored events of its REQ and its live events, because it subscribes before its
// query is made: an event that the query does not find was saved later, so Delivery passes it on. If the query finds an
// event that Delivery passes on, too, the subscriber recognizes it by its serial number (requests.h).
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/account/byte_budget.h"
#include "relay/account/ledger.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/protocol/live_index.h"
#include "relay/store/serial.h"

namespace weir {

// A new event for the live subscribers.
struct LiveEvent {
  Event event;
  Serial serial;       // Serial::number is 0 if the event is not stored (ephemeral events)
  TimePoint received;  // the time at which this relay received the event
};

// LiveSubscriber: the owner of a subscription. Delivery calls it on the I/O thread on which it subscribed. During a
// call it may unsubscribe itself, but no other subscriber.
class LiveSubscriber {
 public:
  virtual ~LiveSubscriber() = default;
  // Called once for each event that matches a filter of the subscription, in the order of the calls of Deliver; never
  // for an event that has expired. May also be called for an event that was saved shortly before the subscription
  // began. `by_query` is true if the event matches a filter that the subscription's query has, too (LiveIndex::Add).
  virtual void OnLive(const LiveEvent& event, bool by_query) = 0;
  // Called if Delivery ends the subscription, which is in a lane of its address's own: new events come faster than they
  // can be matched with the lane's subscriptions, or the address has to free memory. The subscriber must call
  // Unsubscribe before OnTooCostly returns.
  virtual void OnTooCostly() = 0;
};

// LiveWatcher: a part of this process that passes new events on to others. It sees every event that Deliver passes to
// the live subscribers, and those that TellWatchers passes to watchers alone, on the thread of the call. It must return
// within microseconds and must not throw.
class LiveWatcher {
 public:
  virtual ~LiveWatcher() = default;
  virtual void OnSaved(std::span<const LiveEvent> events) = 0;
};

struct Answer;

// EventSender: the connection that sent an event and gets the answer.
class EventSender {
 public:
  virtual ~EventSender() = default;
  // Returns the index of the sender's I/O thread. May be called from any thread.
  virtual size_t io_thread() const = 0;
  // Returns the client's address. May be called from any thread.
  virtual std::string_view address() const { return ""; }
  // Called on the sender's I/O thread, with one or more answers, all for this sender. The function may move from them.
  virtual void OnAnswers(std::span<Answer> answers) = 0;
};

// The answer to one event.
struct Answer {
  std::shared_ptr<EventSender> sender;
  std::string message;  // an OK message, or a NOTICE if the event's id could not be read
  bool is_notice = false;
  std::string refusal = {};  // the reason with its prefix; empty if the event was accepted
  bool wants_auth = false;   // true if the sender must be sent a challenge for AUTH before the message
  TimePoint received;        // the time at which the relay received the event
};

// Events that are delivered together. The destructor returns the batch's bytes to the byte budget.
struct LiveBatch {
  explicit LiveBatch(ByteBudget& from) : budget(from) {}
  ~LiveBatch() { budget.GiveBack(bytes); }
  LiveBatch(const LiveBatch&) = delete;
  LiveBatch& operator=(const LiveBatch&) = delete;

  std::vector<LiveEvent> events;
  ByteBudget& budget;
  uint64_t bytes = 0;  // taken from `budget`
};

class Delivery {
 public:
  // `io_threads` has the executor of each I/O thread, in the order of their numbers. `count_own_bytes`, if given, is
  // called with the bytes of each event that is delivered while there are subscribers. It is called again, with the
  // negative number, on the thread on which the last owner drops the event. The delivery must outlive the tasks that it
  // posts and the events that it has delivered.
  Delivery(RelayCounters& counters, const Clock& clock, const WallClock& wall_clock,
           std::vector<boost::asio::any_io_executor> io_threads, CountOwnBytes count_own_bytes = {});
  ~Delivery();

  // Posts each answer to the I/O thread of its sender, and the events to each I/O thread that has subscriptions. Only
  // the posted tasks call senders and subscribers. `answers` may be empty, and `batch` may be null. May be called from
  // any thread.
  void Deliver(std::vector<Answer> answers, std::shared_ptr<LiveBatch> batch);
  // Adds a watcher, which must live until Unwatch. Unwatch returns when no call of the watcher runs any more. May be
  // called from any thread, but Unwatch not by the watcher.
  void Watch(LiveWatcher* watcher);
  void Unwatch(LiveWatcher* watcher);
  bool HasWatchers() const { return watcher_count_.load() > 0; }
  // Passes events to the watchers alone. May be called from any thread.
  void TellWatchers(std::span<const LiveEvent> events);
  // Returns true if there is any subscription or watcher. May be called from any thread. If the caller has just saved
  // an event, the result takes into account every subscription whose query does not find this event.
  bool HasSubscribers() const;
  // Returns the number of subscriptions on all I/O threads. May be called from any thread.
  size_t subscriptions() const;

  // Identifies a subscription for Unsubscribe.
  struct Subscription {
    LiveIndex::Key key = 0;  // 0: no subscription
    uint64_t address = 0;
    Work shared_work = 0;  // the work that it adds to its address's work in the shared lane
    bool own_lane = false;
  };
  // Adds a subscription of a client with this `address` (Party::group) and this `account`. `filters` and `of_query` are
  // passed to LiveIndex::Add. Must be called on the I/O thread with the number `io_thread`. `subscriber` must live
  // until Unsubscribe.
  Subscription Subscribe(size_t io_thread, uint64_t address, const std::shared_ptr<Account>& account,
                         std::vector<Filter> filters, size_t of_query, LiveSubscriber* subscriber);
  // Removes a subscription; Delivery does not call its subscriber any more. Must be called once for each Subscribe, on
  // the same thread.
  void Unsubscribe(size_t io_thread, const Subscription& subscription);

 private:
  struct Lane;
  struct IoThread;
  void CountAsOwn(LiveBatch& batch) const;
  void Receive(IoThread& thread, std::span<Answer> answers, const std::shared_ptr<const LiveBatch>& batch);
  void Enter(IoThread& thread, Lane& lane, const std::shared_ptr<const LiveBatch>& batch);
  void TakeTurn(IoThread& thread);
  bool GoOn(IoThread& thread, Lane& lane, Work* left);
  void DeliverFirst(IoThread& thread, Lane& lane, Work* left);
  void End(IoThread& thread, Lane& lane);
  void GiveUp(IoThread& thread, uint64_t address);
  void EndOne(Lane& lane, Work* left);

  RelayCounters& counters_;
  const Clock& clock_;
  const WallClock& wall_clock_;
  const CountOwnBytes count_own_bytes_;
  std::vector<std::unique_ptr<IoThread>> threads_;

  Mutex watchers_mutex_;
  std::vector<LiveWatcher*> watchers_ WEIR_GUARDED_BY(watchers_mutex_);
  std::atomic<size_t> watcher_count_{0};
};

}  // namespace weir
