// Delivery: the way back from workers and the commit thread to the I/O threads. What became of events goes to those who
// sent them, and what was saved to the live subscribers, in one hand-over for each I/O thread and write.
//
// Events that wait for their subscribers keep their share of the byte budget, so a fan-out that is slower than the
// writers slows the writers down. An I/O thread delivers in turns and looks at its sockets between them.
//
// No event is lost and none comes twice between what a REQ finds stored and what it gets live, if the subscription was
// entered before its query was made: what the query misses was saved later, so it comes here, and what both have is
// told by its serial (requests.h).
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/clock.h"
#include "relay/byte_budget.h"
#include "relay/live_index.h"
#include "relay/nostr/event.h"
#include "relay/relay_metrics.h"

namespace weir {

struct LiveEvent {
  Event event;
  uint64_t serial = 0;  // 0: not stored
  TimePoint received;
};

// Called on its own I/O thread. It may remove itself from the index, nobody else.
class LiveSubscriber {
 public:
  virtual ~LiveSubscriber() = default;
  virtual void OnLive(const LiveEvent& event) = 0;
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
  Delivery(RelayMetrics& metrics, const Clock& clock, const WallClock& wall_clock,
           std::vector<boost::asio::any_io_executor> io_threads);
  ~Delivery();

  // From any thread. The batch may be null.
  void Deliver(std::vector<Answer> answers, std::shared_ptr<const LiveBatch> batch);
  // Whether anybody subscribes to anything. Asked after a save, it misses nobody whose query misses that save.
  bool HasSubscribers() const;
  size_t subscriptions() const;

  // On the I/O thread in question.
  LiveIndex::Key Subscribe(size_t io_thread, std::vector<Filter> filters, LiveSubscriber* subscriber);
  void Unsubscribe(size_t io_thread, LiveIndex::Key key);

 private:
  struct IoThread;
  struct Effort {
    size_t deliveries = 0;
    size_t filters = 0;  // that were looked at
  };
  void Receive(IoThread& thread, std::span<Answer> answers, std::shared_ptr<const LiveBatch> batch);
  void TakeTurn(IoThread& thread);
  Effort DeliverOne(IoThread& thread, const LiveEvent& event);

  RelayMetrics& metrics_;
  const Clock& clock_;
  const WallClock& wall_clock_;
  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace weir
