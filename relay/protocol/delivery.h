// Delivery: the way back from workers and the commit thread to the I/O threads. Answers go to the senders of events,
// saved events to the live subscribers, in one hand-over for each I/O thread and write.
//
// An I/O thread delivers in turns of about a millisecond of work and looks at its sockets between them; answers go out
// first. Events that wait for their subscribers keep their share of the byte budget, so a fan-out that is slower than
// the writers slows the writers down. But the subscriptions of one address must not slow down others. Up to a cost of a
// quarter of a turn per event, they are matched in a lane that all addresses share; those beyond it are matched in a
// lane of the address's own. Own lanes take turns with each other, and the shared lane has every other turn. An event
// that waits in an own lane counts for its address. If that is more than the address may have, the lane's subscriptions
// are ended.
//
// Between the stored events of a REQ and its live events none is lost and none comes twice, if the subscription was
// entered before its query was made: an event that the query misses was saved later, so it comes here, and an event
// that comes both ways is recognized by its serial (requests.h).
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/clock.h"
#include "relay/account/byte_budget.h"
#include "relay/account/ledger.h"
#include "relay/account/work.h"
#include "relay/metrics/relay_counters.h"
#include "relay/nostr/event.h"
#include "relay/protocol/live_index.h"
#include "relay/store/serial.h"

namespace weir {

struct LiveEvent {
  Event event;
  Serial serial;
  TimePoint received;
};

// Called on its own I/O thread. It may unsubscribe itself, but no other subscriber.
class LiveSubscriber {
 public:
  virtual ~LiveSubscriber() = default;
  // `by_query`: the subscriber's query asks for such events, too.
  virtual void OnLive(const LiveEvent& event, bool by_query) = 0;
  // Events come faster than they can be matched with all that the subscriber's address asks for. It must unsubscribe.
  virtual void OnTooCostly() = 0;
};

struct Answer;

class EventSender {
 public:
  virtual ~EventSender() = default;
  virtual size_t io_thread() const = 0;
  // Called on the sender's I/O thread. All answers are for this sender.
  virtual void OnAnswers(std::span<Answer> answers) = 0;
};

// The outcome of one event, for its sender.
struct Answer {
  std::shared_ptr<EventSender> sender;
  std::string message;  // an OK, or a NOTICE if no id could be read
  bool is_notice = false;
  std::string refusal = {};  // the reason, if it was refused
  bool wants_auth = false;   // ask the sender for AUTH before the message
  TimePoint received;
};

// Events that are delivered together. Their bytes go back to the budget when the last holder lets go of the batch.
struct LiveBatch {
  explicit LiveBatch(ByteBudget& from) : budget(from) {}
  ~LiveBatch() { budget.GiveBack(bytes); }
  LiveBatch(const LiveBatch&) = delete;
  LiveBatch& operator=(const LiveBatch&) = delete;

  std::vector<LiveEvent> events;
  ByteBudget& budget;
  uint64_t bytes = 0;
};

class Delivery {
 public:
  // `count_own_bytes` counts each event that is delivered, from its delivery until its last holder lets go of it.
  Delivery(RelayCounters& counters, const Clock& clock, const WallClock& wall_clock,
           std::vector<boost::asio::any_io_executor> io_threads, CountOwnBytes count_own_bytes = {});
  ~Delivery();

  // May be called from any thread. `batch` may be null.
  void Deliver(std::vector<Answer> answers, std::shared_ptr<LiveBatch> batch);
  // Returns true if there is any subscription. Asked after a save, it sees each one whose query misses that save.
  bool HasSubscribers() const;
  size_t subscriptions() const;

  // Used on the I/O thread in question, as are the two functions below.
  struct Subscription {
    LiveIndex::Key key = 0;  // 0: none
    uint64_t address = 0;
    Work shared_work = 0;
    bool own_lane = false;
  };
  // `filters` and `of_query`: see LiveIndex::Add. `account` is the connection's.
  Subscription Subscribe(size_t io_thread, uint64_t address, const std::shared_ptr<Account>& account,
                         std::vector<Filter> filters, size_t of_query, LiveSubscriber* subscriber);
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
};

}  // namespace weir
