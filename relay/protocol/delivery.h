// Delivery: the way back from workers and the commit thread to the I/O threads. What became of events goes to those who
// sent them, and what was saved to the live subscribers, in one hand-over for each I/O thread and write.
//
// An I/O thread delivers in turns of about a millisecond of work and looks at its sockets between them; answers go out
// first. Events that wait for their subscribers keep their share of the byte budget, so a fan-out that is slower than
// the writers slows the writers down. But nobody's subscriptions slow down others': of what the subscriptions of one
// address cost, a quarter of a turn for each event is matched together with everybody else's. What it has beyond that
// is matched in a lane of its own. The lanes of addresses take turns, and everybody else's has every other one. An
// event that waits in one's own counts for the address that has it. When that is more than it may have, the lane's
// subscriptions are ended.
//
// No event is lost and none comes twice between what a REQ finds stored and what it gets live, if the subscription was
// entered before its query was made: what the query misses was saved later, so it comes here, and what both have is
// told by its serial (requests.h).
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

// Called on its own I/O thread. It may unsubscribe itself, nobody else.
class LiveSubscriber {
 public:
  virtual ~LiveSubscriber() = default;
  // `by_query`: its query asks for such events, too.
  virtual void OnLive(const LiveEvent& event, bool by_query) = 0;
  // Events came faster than they could be matched with all that its address asks for. It must unsubscribe.
  virtual void OnTooCostly() = 0;
};

struct Answer;

class EventSender {
 public:
  virtual ~EventSender() = default;
  virtual size_t io_thread() const = 0;
  // On its I/O thread; all of them are its own.
  virtual void OnAnswers(std::span<Answer> answers) = 0;
};

// What became of an event.
struct Answer {
  std::shared_ptr<EventSender> sender;
  std::string message;  // an OK, or a NOTICE where no id could be read
  bool is_notice = false;
  std::string refusal = {};  // why, where it was refused
  bool wants_auth = false;   // of the sender, before the message
  TimePoint received;
};

// What is delivered together; its bytes go back to the budget with the last who holds it.
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
  // `count_own_bytes` is told of the events that are delivered, each from now on until nobody holds it.
  Delivery(RelayCounters& counters, const Clock& clock, const WallClock& wall_clock,
           std::vector<boost::asio::any_io_executor> io_threads, CountOwnBytes count_own_bytes = {});
  ~Delivery();

  // From any thread. The batch may be null.
  void Deliver(std::vector<Answer> answers, std::shared_ptr<LiveBatch> batch);
  // Whether anybody subscribes to anything. Asked after a save, it misses nobody whose query misses that save.
  bool HasSubscribers() const;
  size_t subscriptions() const;

  // On the I/O thread in question.
  struct Subscription {
    LiveIndex::Key key = 0;  // 0: none
    uint64_t address = 0;
    Work shared_work = 0;
    bool own_lane = false;
  };
  // `filters`: as LiveIndex::Add takes them. `account`: its connection's.
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
