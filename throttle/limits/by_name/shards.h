// Shards: stores the state that a limiter keeps for each name. A name is a text that a client chose, such as the key of
// a KeyedLimiter. The hash of a name decides which of several shards stores its state. One thread at a time works on a
// shard, without a lock (turn.h): if a shard is busy, a thread queues its work for the thread that works there, and
// does not wait. A ticker (ticker.h), or the owner of the Shards, calls Tick when a shard asks for it.
//
// A Shard is a class with two functions: Tick(), and NextTick(), which returns the time at which Tick has to be called.
// If a shard needs an earlier call of Tick, it calls the function `wants_tick`, which it gets when it is made.
//
// Threads: any thread may call any function, but only one thread at a time may call StartTicking or Stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "throttle/limits/by_name/page.h"
#include "throttle/limits/by_name/ticker.h"
#include "throttle/limits/by_name/turn.h"

namespace weir {

template <typename Shard>
class Shards {
 public:
  using WantsTick = std::function<void(TimePoint)>;

  // Makes `count` shards, at least one. make(number of the shard, wants_tick) returns a Shard.
  template <typename Make>
  Shards(size_t count, Make make) {
    for (size_t i = 0; i < std::max<size_t>(1, count); ++i)
      shards_.push_back(std::make_unique<InTurn>([&] { return make(i, [this](TimePoint at) { WantTick(at); }); }));
  }

  ~Shards() { Stop(); }

  // Ends the ticker thread, and runs the pieces of work that are still queued at the shards.
  void Stop() {
    ticker_.reset();
    for (const auto& at : shards_)
      while (!at->turn.Do([] {}, [] { return [] {}; })) {
      }
  }

  // Starts a thread that calls Tick until Stop is called. Without this thread, the owner has to call Tick.
  void StartTicking() {
    ticker_ = std::make_unique<Ticker>([this] { return Tick(); });
    ticker_->Start();
  }

  size_t size() const { return shards_.size(); }
  // Returns the number of the shard that stores the names with that hash, if there are `count` shards.
  static size_t NumberOf(uint64_t hash, size_t count) { return (hash >> 32) % count; }
  // Returns the shard with that number, even while a thread works on it. Call only those of its functions that any
  // thread may call.
  const Shard& operator[](size_t number) const { return shards_[number]->shard; }

  // Calls piece(shard) once, with the shard that stores the names with that hash: before DoAt returns, unless a thread
  // works on the shard already. In that case DoAt queues the result of own(), a copy of the piece that owns all its
  // data. That thread calls the copy a moment later; if it has had too much work for others (turn.h), the next thread
  // that works on the shard does.
  template <typename Piece, typename MakeOwning>
  void DoAt(uint64_t hash, Piece&& piece, MakeOwning&& own) {
    Do(NumberOf(hash, size()), piece, own);
  }
  // Does the same as DoAt, with the shard that has that number.
  template <typename Piece, typename MakeOwning>
  void Do(size_t number, Piece&& piece, MakeOwning&& own) {
    InTurn& at = *shards_[number];
    const bool all_done =
        at.turn.Do([&] { piece(at.shard); }, [&] { return [&at, owned = own()]() mutable { owned(at.shard); }; });
    if (!all_done) WantTick(TimePoint::min());
  }
  // Does the same as Do, with all shards. `piece` has to own its data, because it is copied for shards that are busy.
  template <typename Piece>
  void DoAtAll(Piece piece) {
    for (size_t i = 0; i < size(); ++i) Do(i, piece, [&] { return piece; });
  }
  // Calls gather(shard) for each shard; it returns a vector<Item>. Then calls `done` once with all items, in no
  // particular order, in the thread that made the last call of `gather`.
  template <typename Item, typename Gather>
  void GatherFromAll(Gather gather, std::function<void(std::vector<Item>)> done) {
    struct Gathered {
      std::vector<std::vector<Item>> parts;
      std::atomic<size_t> missing;
      std::function<void(std::vector<Item>)> done;
    };
    auto gathered = std::make_shared<Gathered>();
    gathered->parts.resize(size());
    gathered->missing = size();
    gathered->done = std::move(done);
    for (size_t i = 0; i < size(); ++i) {
      auto piece = [gathered, i, gather](Shard& shard) {
        gathered->parts[i] = gather(shard);
        if (gathered->missing.fetch_sub(1) > 1) return;
        std::vector<Item> all;
        for (auto& part : gathered->parts) std::move(part.begin(), part.end(), std::back_inserter(all));
        gathered->done(std::move(all));
      };
      Do(i, piece, [&] { return piece; });
    }
  }

  // Makes a page (page.h) that begins at `place`: calls add(shard, number of the shard, page), which calls Page::Add,
  // for one shard after the other, until the page is full. Then calls `done` once with the page: before PageFrom
  // returns or, if a shard was busy, later in the thread that worked on that shard.
  template <typename State, typename Add>
  void PageFrom(PagePlace place, Add add, std::function<void(Page<State>)> done) {
    struct Walk {
      Page<State> page;
      Add add;
      std::function<void(Page<State>)> done;
    };
    GoOn(place.shard, std::make_shared<Walk>(Walk{Page<State>(place), std::move(add), std::move(done)}));
  }

  // Calls Tick of all shards. Returns the time at which the caller has to call Tick again.
  TimePoint Tick() {
    promised_tick_.store(TimePoint::min());
    wanted_tick_.store(TimePoint::max());
    DoAtAll([this](Shard& shard) {
      shard.Tick();
      WantTick(shard.NextTick());
    });
    // If a shard asks for an earlier tick during this loop, either WantTick reads the new promised_tick_ and wakes the
    // ticker, or the loop reads the new wanted_tick_ and runs again.
    TimePoint next;
    do promised_tick_.store(next = wanted_tick_.load());
    while (wanted_tick_.load() < next);
    return next;
  }

 private:
  struct alignas(64) InTurn {
    template <typename Make>
    explicit InTurn(Make make) : shard(make()) {}

    Turn turn;
    Shard shard;
  };

  // Adds the names of the shards from `number` on to the page, one shard after the other. If another thread works on a
  // shard, that thread continues the page from this shard on, while it holds the shard's turn. Other work for the shard
  // then waits until the page is complete, or until a third thread, at work on a later shard, continues the page.
  template <typename Walk>
  void GoOn(uint64_t number, std::shared_ptr<Walk> walk) {
    struct Step {
      std::atomic<bool> half_done{false};  // `look` and GoOn both set it; the one that is second continues the page
      bool to_next = false;
    };
    for (; number < size(); ++number) {
      const auto step = std::make_shared<Step>();
      const auto look = [this, number, walk, step](Shard& shard) {
        step->to_next = walk->add(shard, number, &walk->page);
        if (!step->half_done.exchange(true)) return;
        if (step->to_next) return GoOn(number + 1, walk);
        walk->done(std::move(walk->page));
      };
      Do(number, look, [&] { return look; });
      if (!step->half_done.exchange(true)) return;
      if (!step->to_next) return walk->done(std::move(walk->page));
    }
    walk->page.End();
    walk->done(std::move(walk->page));
  }

  void WantTick(TimePoint at) {
    TimePoint before = wanted_tick_.load();
    while (at < before && !wanted_tick_.compare_exchange_weak(before, at)) {
    }
    if (at < promised_tick_.load() && ticker_ != nullptr) ticker_->Wake();
  }

  std::atomic<TimePoint> wanted_tick_{TimePoint::max()};    // the earliest time for which a shard has asked
  std::atomic<TimePoint> promised_tick_{TimePoint::max()};  // the time that Tick returned last; min() while Tick runs
  std::vector<std::unique_ptr<InTurn>> shards_;
  std::unique_ptr<Ticker> ticker_;  // last, so that it ends before the shards
};

}  // namespace weir
