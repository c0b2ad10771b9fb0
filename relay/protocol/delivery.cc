#include "relay/protocol/delivery.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <deque>
#include <unordered_map>
#include <utility>

#include "relay/nostr/expiration.h"

namespace weir {
namespace {

// The work on a lane before another lane of its I/O thread gets a turn.
constexpr Work kLaneWork = kTurnWork / 4;
// The most work per event by which an address's subscriptions may load the shared lane.
constexpr Work kSharedWork = kTurnWork / 4;
// The bytes of events that may wait in an address's own lane: enough for several commits, so a burst does not end the
// lane's subscriptions.
constexpr uint64_t kMostBehindBytes = 16 << 20;
constexpr uint64_t kWaitingBytes = 128;  // the memory of a waiting event besides its record
constexpr Work kEventWork = 500;         // the base cost of an event, whether a subscriber wants it or not
constexpr Work kFreePlaceWork = 10;

void Spend(Work work, Work* left) { *left -= std::min(*left, work); }

}  // namespace

// Subscriptions, and the events that still have to be matched with them.
struct Delivery::Lane {
  struct Waiting {
    LiveEvent event;
    std::shared_ptr<const LiveBatch> batch;  // keeps the batch's bytes of the budget; null in an address's own lane
  };
  static uint64_t BytesOf(const LiveEvent& event) { return event.event.record()->size() + kWaitingBytes; }

  ~Lane() { DropWaiting(); }
  // Adds an event to the queue. Returns false, and adds nothing, if too many bytes would wait in it.
  bool Add(const LiveEvent& event, const std::shared_ptr<const LiveBatch>& batch) {
    if (account != nullptr) {
      const uint64_t bytes = BytesOf(event);
      if (bytes_behind + bytes > kMostBehindBytes || !account->TryTake(bytes, Memory::kShared)) return false;
      bytes_behind += bytes;
    }
    waiting.push_back({event, account == nullptr ? batch : nullptr});
    return true;
  }
  void DropFirst() {
    has_begun = was_wanted = false;
    if (account != nullptr) {
      const uint64_t bytes = BytesOf(waiting.front().event);
      bytes_behind -= bytes;
      account->GiveBack(bytes, Memory::kShared);
    }
    waiting.pop_front();
  }
  void DropWaiting() {
    while (!waiting.empty()) DropFirst();
  }

  LiveIndex index;
  std::deque<Waiting> waiting;
  bool has_begun = false;   // true while the first waiting event is being matched
  bool was_wanted = false;  // true if a subscriber wants the first waiting event
  bool in_ring = false;     // true while the lane has work to do

  // The members below are used in an address's own lane only.
  std::shared_ptr<Account> account;
  uint64_t bytes_behind = 0;
  bool ends = false;      // true while the lane's subscriptions are being ended
  size_t ends_place = 0;  // the index's place at which ending them continues
};

struct Delivery::IoThread {
  explicit IoThread(boost::asio::any_io_executor e) : executor(std::move(e)) {}

  void PutInRing(Lane& lane) {
    if (!std::exchange(lane.in_ring, true) && &lane != &shared) ring.push_back(&lane);
  }
  bool has_more() const { return shared.in_ring || !ring.empty(); }
  // Gives the shared lane every other turn, however many addresses have a lane of their own.
  Lane& Next() {
    shared_is_next = shared.in_ring && (ring.empty() || !shared_is_next);
    return shared_is_next ? shared : *ring.front();
  }
  void TakeFromRing(Lane& lane) {
    lane.in_ring = false;
    if (&lane != &shared) ring.pop_front();
  }
  void DropOwnLane(uint64_t address) {
    const auto own = own_lanes.find(address);
    if (own != own_lanes.end() && own->second->index.size() == 0 && !own->second->in_ring) own_lanes.erase(own);
  }

  const boost::asio::any_io_executor executor;
  std::atomic<size_t> subscriptions{0};

  // The members below are used on the I/O thread only.
  Lane shared;
  std::unordered_map<uint64_t, Work> shared_work;  // by address, for its subscriptions in the shared lane
  std::unordered_map<uint64_t, std::unique_ptr<Lane>> own_lanes;
  std::deque<Lane*> ring;       // addresses' own lanes that have work to do
  bool shared_is_next = false;  // true if the latest turn went to the shared lane
  bool turn_is_posted = false;
  std::vector<LiveIndex::Hit> hits;
};

Delivery::Delivery(RelayCounters& counters, const Clock& clock, const WallClock& wall_clock,
                   std::vector<boost::asio::any_io_executor> io_threads, CountOwnBytes count_own_bytes)
    : counters_(counters), clock_(clock), wall_clock_(wall_clock), count_own_bytes_(std::move(count_own_bytes)) {
  for (auto& executor : io_threads) threads_.push_back(std::make_unique<IoThread>(std::move(executor)));
}

Delivery::~Delivery() = default;

void Delivery::Deliver(std::vector<Answer> answers, std::shared_ptr<LiveBatch> batch) {
  if (batch != nullptr && HasSubscribers()) CountAsOwn(*batch);
  if (batch != nullptr && HasWatchers()) TellWatchers(batch->events);
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
                       live_batch = live ? batch : nullptr]() mutable { Receive(thread, own, live_batch); });
  }
}

// Counts each record once, even if it waits in many lanes, behind stored events, or as output for many subscribers.
void Delivery::CountAsOwn(LiveBatch& batch) const {
  if (!count_own_bytes_) return;
  for (LiveEvent& live : batch.events) {
    const std::shared_ptr<const std::string> record = live.event.record();
    const auto bytes = static_cast<int64_t>(record->size());
    count_own_bytes_(bytes, OwnUse::kHeld);
    live.event = Event(std::shared_ptr<const std::string>(
        record.get(), [this, record, bytes](const std::string*) { count_own_bytes_(-bytes, OwnUse::kHeld); }));
  }
}

void Delivery::TellWatchers(std::span<const LiveEvent> events) {
  const MutexLock lock(watchers_mutex_);
  for (LiveWatcher* watcher : watchers_) watcher->OnSaved(events);
}

void Delivery::Watch(LiveWatcher* watcher) {
  const MutexLock lock(watchers_mutex_);
  watchers_.push_back(watcher);
  // Sequentially consistent, like the count of subscriptions in Subscribe, for the same reason.
  watcher_count_.fetch_add(1);
}

void Delivery::Unwatch(LiveWatcher* watcher) {
  const MutexLock lock(watchers_mutex_);
  watcher_count_.fetch_sub(std::erase(watchers_, watcher));
}

bool Delivery::HasSubscribers() const {
  if (HasWatchers()) return true;
  for (const auto& thread : threads_)
    if (thread->subscriptions.load() > 0) return true;
  return false;
}

size_t Delivery::subscriptions() const {
  size_t sum = 0;
  for (const auto& thread : threads_) sum += thread->subscriptions.load();
  return sum;
}

Delivery::Subscription Delivery::Subscribe(size_t io_thread, uint64_t address, const std::shared_ptr<Account>& account,
                                           std::vector<Filter> filters, size_t of_query, LiveSubscriber* subscriber) {
  IoThread& thread = *threads_[io_thread];
  // The increment is sequentially consistent: a thread that does not see it has saved its event before the query is
  // made.
  thread.subscriptions.fetch_add(1);
  Subscription subscription{.address = address, .shared_work = LiveIndex::MostWork(filters)};
  Lane* lane = &thread.shared;
  Work& shared_work = thread.shared_work[address];
  if (shared_work + subscription.shared_work <= kSharedWork) {
    shared_work += subscription.shared_work;
  } else {
    subscription.shared_work = 0;
    subscription.own_lane = true;
    std::unique_ptr<Lane>& own = thread.own_lanes[address];
    if (own == nullptr) {
      own = std::make_unique<Lane>();
      own->account = account->OpenBeside([this, &thread, address] {
        boost::asio::post(thread.executor, [this, &thread, address] { GiveUp(thread, address); });
      });
    }
    lane = own.get();
  }
  subscription.key = lane->index.Add(std::move(filters), subscriber, of_query);
  return subscription;
}

void Delivery::Unsubscribe(size_t io_thread, const Subscription& subscription) {
  IoThread& thread = *threads_[io_thread];
  thread.subscriptions.fetch_sub(1);
  if (subscription.own_lane) {
    thread.own_lanes.at(subscription.address)->index.Remove(subscription.key);
    thread.DropOwnLane(subscription.address);
  } else {
    thread.shared.index.Remove(subscription.key);
    thread.shared_work[subscription.address] -= subscription.shared_work;
  }
  const auto work = thread.shared_work.find(subscription.address);
  if (work != thread.shared_work.end() && work->second == 0) thread.shared_work.erase(work);
}

void Delivery::Receive(IoThread& thread, std::span<Answer> answers, const std::shared_ptr<const LiveBatch>& batch) {
  while (!answers.empty()) {
    const std::shared_ptr<EventSender> sender = answers.front().sender;
    size_t n = 1;
    while (n < answers.size() && answers[n].sender == sender) ++n;
    sender->OnAnswers(answers.first(n));
    answers = answers.subspan(n);
  }
  if (batch == nullptr) return;
  Enter(thread, thread.shared, batch);
  for (const auto& [address, lane] : thread.own_lanes) Enter(thread, *lane, batch);
  if (!thread.turn_is_posted) TakeTurn(thread);
}

void Delivery::Enter(IoThread& thread, Lane& lane, const std::shared_ptr<const LiveBatch>& batch) {
  if (lane.index.size() == 0 || lane.ends) return;
  for (const LiveEvent& event : batch->events) {
    if (lane.Add(event, batch)) continue;
    End(thread, lane);
    break;
  }
  thread.PutInRing(lane);
}

// Ends the subscriptions in turns, because there may be many.
void Delivery::End(IoThread& thread, Lane& lane) {
  lane.DropWaiting();
  lane.ends = true;
  thread.PutInRing(lane);
}

void Delivery::GiveUp(IoThread& thread, uint64_t address) {
  const auto own = thread.own_lanes.find(address);
  if (own == thread.own_lanes.end()) return;
  End(thread, *own->second);
  if (!thread.turn_is_posted) TakeTurn(thread);
}

void Delivery::TakeTurn(IoThread& thread) {
  thread.turn_is_posted = false;
  for (Work left = kTurnWork; left > 0 && thread.has_more();) {
    Lane& lane = thread.Next();
    const Work most = std::min(left, kLaneWork);
    Work lane_left = most;
    const bool more = GoOn(thread, lane, &lane_left);
    left -= most - lane_left;
    thread.TakeFromRing(lane);
    if (more) {
      thread.PutInRing(lane);
    } else if (&lane != &thread.shared && lane.index.size() == 0) {
      std::erase_if(thread.own_lanes, [&lane](const auto& own) { return own.second.get() == &lane; });
    }
  }
  if (!thread.has_more()) return;
  boost::asio::post(thread.executor, [this, &thread] { TakeTurn(thread); });
  thread.turn_is_posted = true;  // only now, because memory may run out in the post; the next events then go on
}

// Returns false if the lane has no more work to do.
bool Delivery::GoOn(IoThread& thread, Lane& lane, Work* left) {
  while (lane.ends ? lane.index.size() > 0 : !lane.waiting.empty()) {
    if (*left == 0) return true;
    lane.ends ? EndOne(lane, left) : DeliverFirst(thread, lane, left);
  }
  return false;
}

void Delivery::DeliverFirst(IoThread& thread, Lane& lane, Work* left) {
  const LiveEvent& event = lane.waiting.front().event;
  if (!lane.has_begun) {
    Spend(kEventWork, left);
    const EventView view = event.event.view();
    if (view.expiration() != 0 && IsExpired(view, wall_clock_.NowSeconds())) return lane.DropFirst();
    lane.index.Begin(view);
    lane.has_begun = true;
  }
  // Calls the subscribers only after Next has returned, because a subscriber may leave the index when it is called.
  thread.hits.clear();
  const bool done = lane.index.Next(left, &thread.hits);
  for (const LiveIndex::Hit& hit : thread.hits)
    static_cast<LiveSubscriber*>(hit.subscriber)->OnLive(event, hit.by_query);
  lane.was_wanted = lane.was_wanted || !thread.hits.empty();
  if (!done) return;
  if (lane.was_wanted) counters_.LiveDelivery(clock_.Now() - event.received);
  lane.DropFirst();
}

void Delivery::EndOne(Lane& lane, Work* left) {
  void* const subscriber = lane.index.At(lane.ends_place++ % lane.index.places());
  Spend(subscriber == nullptr ? kFreePlaceWork : kDeliveryWork, left);
  if (subscriber != nullptr) static_cast<LiveSubscriber*>(subscriber)->OnTooCostly();
}

}  // namespace weir
