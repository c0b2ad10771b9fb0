#include "relay/delivery.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "relay/nostr/expiration.h"

namespace weir {
namespace {

// Of one turn of an I/O thread, about half a millisecond each.
constexpr size_t kDeliveriesInATurn = 256;
constexpr size_t kEventsInATurn = 256;
constexpr size_t kFiltersInATurn = 10'000;  // looked at, whether they match or not

}  // namespace

struct Delivery::IoThread {
  explicit IoThread(boost::asio::any_io_executor e) : executor(std::move(e)) {}

  const boost::asio::any_io_executor executor;
  std::atomic<size_t> subscriptions{0};

  // The thread's own.
  LiveIndex index;
  struct Waiting {
    std::shared_ptr<const LiveBatch> batch;
    size_t next = 0;
  };
  std::deque<Waiting> waiting;
  bool turn_is_posted = false;
  std::vector<LiveSubscriber*> matched;
};

Delivery::Delivery(RelayMetrics& metrics, const Clock& clock, const WallClock& wall_clock,
                   std::vector<boost::asio::any_io_executor> io_threads)
    : metrics_(metrics), clock_(clock), wall_clock_(wall_clock) {
  for (auto& executor : io_threads) threads_.push_back(std::make_unique<IoThread>(std::move(executor)));
}

Delivery::~Delivery() = default;

void Delivery::Deliver(std::vector<Answer> answers, std::shared_ptr<const LiveBatch> batch) {
  std::vector<std::vector<Answer>> by_thread(threads_.size());
  for (Answer& answer : answers) {
    auto& own = by_thread[answer.sender->io_thread()];
    if (own.empty()) own.reserve(answers.size());
    own.push_back(std::move(answer));
  }
  for (size_t i = 0; i < threads_.size(); ++i) {
    const bool live = batch != nullptr && !batch->events.empty() && threads_[i]->subscriptions.load() > 0;
    if (by_thread[i].empty() && !live) continue;
    boost::asio::post(threads_[i]->executor,
                      [this, &thread = *threads_[i], own = std::move(by_thread[i]),
                       live_batch = live ? batch : nullptr]() mutable { Receive(thread, own, std::move(live_batch)); });
  }
}

bool Delivery::HasSubscribers() const {
  for (const auto& thread : threads_)
    if (thread->subscriptions.load() > 0) return true;
  return false;
}

size_t Delivery::subscriptions() const {
  size_t sum = 0;
  for (const auto& thread : threads_) sum += thread->subscriptions.load();
  return sum;
}

LiveIndex::Key Delivery::Subscribe(size_t io_thread, std::vector<Filter> filters, LiveSubscriber* subscriber) {
  IoThread& thread = *threads_[io_thread];
  // In the one order of all such accesses: who does not see it afterwards saved before the query was made.
  thread.subscriptions.fetch_add(1);
  return thread.index.Add(std::move(filters), subscriber);
}

void Delivery::Unsubscribe(size_t io_thread, LiveIndex::Key key) {
  IoThread& thread = *threads_[io_thread];
  thread.index.Remove(key);
  thread.subscriptions.fetch_sub(1);
}

void Delivery::Receive(IoThread& thread, std::span<Answer> answers, std::shared_ptr<const LiveBatch> batch) {
  while (!answers.empty()) {
    const std::shared_ptr<EventSender> sender = answers.front().sender;
    size_t n = 1;
    while (n < answers.size() && answers[n].sender == sender) ++n;
    sender->OnAnswers(answers.first(n));
    answers = answers.subspan(n);
  }
  if (batch == nullptr) return;
  thread.waiting.push_back({std::move(batch)});
  if (!thread.turn_is_posted) TakeTurn(thread);
}

void Delivery::TakeTurn(IoThread& thread) {
  thread.turn_is_posted = false;
  Effort spent;
  for (size_t events = 0; !thread.waiting.empty(); ++events) {
    if (spent.deliveries >= kDeliveriesInATurn || spent.filters >= kFiltersInATurn || events >= kEventsInATurn) {
      thread.turn_is_posted = true;
      boost::asio::post(thread.executor, [this, &thread] { TakeTurn(thread); });
      return;
    }
    IoThread::Waiting& front = thread.waiting.front();
    const Effort effort = DeliverOne(thread, front.batch->events[front.next]);
    spent.deliveries += effort.deliveries;
    spent.filters += effort.filters;
    if (++front.next == front.batch->events.size()) thread.waiting.pop_front();
  }
}

Delivery::Effort Delivery::DeliverOne(IoThread& thread, const LiveEvent& event) {
  const EventView view = event.event.view();
  if (view.expiration() != 0 && IsExpired(view, wall_clock_.NowSeconds())) return {};
  // Told after they are all known: a subscriber may leave the index when it is told.
  thread.matched.clear();
  const size_t filters = thread.index.Match(view, [&](LiveIndex::Key, void* subscriber) {
    thread.matched.push_back(static_cast<LiveSubscriber*>(subscriber));
  });
  for (LiveSubscriber* subscriber : thread.matched) subscriber->OnLive(event);
  if (!thread.matched.empty()) metrics_.LiveDelivery(clock_.Now() - event.received);
  return {.deliveries = thread.matched.size(), .filters = filters};
}

}  // namespace weir
