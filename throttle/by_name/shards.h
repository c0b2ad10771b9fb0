// Shards: what a limiter holds by name, spread over shards. A shard is touched by one thread at a time, without a lock
// (Turn); one thread ticks all of them when they want it (Ticker). No thread waits for another.
//
// A Shard has Tick(), and NextTick(), which returns when it wants to be ticked. In between it may ask for a tick by the
// `wants_tick` that it was given.
//
// Threads: any.
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
#include "throttle/by_name/page.h"
#include "throttle/by_name/ticker.h"
#include "throttle/by_name/turn.h"

namespace weir {

template <typename Shard>
class Shards {
 public:
  using WantsTick = std::function<void(TimePoint)>;

  // make(number of the shard, wants_tick) → a Shard.
  template <typename Make>
  Shards(size_t count, Make make) {
    for (size_t i = 0; i < std::max<size_t>(1, count); ++i)
      shards_.push_back(std::make_unique<InTurn>([&] { return make(i, [this](TimePoint at) { WantTick(at); }); }));
  }

  ~Shards() { Stop(); }

  // Ends the ticking, and runs what a thread left because its turn was over.
  void Stop() {
    ticker_.reset();
    for (const auto& at : shards_)
      while (!at->turn.Do([] {}, [] { return [] {}; })) {
      }
  }

  // Starts the thread that ticks, until Stop.
  void StartTicking() {
    ticker_ = std::make_unique<Ticker>([this] { return Tick(); });
    ticker_->Start();
  }

  size_t size() const { return shards_.size(); }
  // Returns which of `count` shards holds a name of that hash.
  static size_t NumberOf(uint64_t hash, size_t count) { return (hash >> 32) % count; }
  // Gives a shard, only for calls that any thread may make.
  const Shard& operator[](size_t number) const { return shards_[number]->shard; }

  // Runs piece(shard) at the shard of that hash, now or in its turn. own() makes a piece that can wait for that.
  template <typename Piece, typename MakeOwning>
  void DoAt(uint64_t hash, Piece&& piece, MakeOwning&& own) {
    Do(NumberOf(hash, size()), piece, own);
  }
  template <typename Piece, typename MakeOwning>
  void Do(size_t number, Piece&& piece, MakeOwning&& own) {
    InTurn& at = *shards_[number];
    const bool all_done =
        at.turn.Do([&] { piece(at.shard); }, [&] { return [&at, owned = own()]() mutable { owned(at.shard); }; });
    if (!all_done) WantTick(TimePoint::min());
  }
  template <typename Piece>
  void DoAtAll(Piece piece) {
    for (size_t i = 0; i < size(); ++i) Do(i, piece, [&] { return piece; });
  }
  // Gathers a part from each shard: gather(shard) → vector<Item>. `done` gets all items, in no order.
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

  // Makes a page of what the shards hold: add(shard, its number, page) calls Page::Add. `done` is called on the thread
  // that looks at the last shard; if that shard was busy, in its turn.
  template <typename State, typename Add>
  void PageFrom(PagePlace place, Add add, std::function<void(Page<State>)> done) {
    struct Walk {
      Page<State> page;
      Add add;
      std::function<void(Page<State>)> done;
    };
    GoOn(place.shard, std::make_shared<Walk>(Walk{Page<State>(place), std::move(add), std::move(done)}));
  }

  // Ticks all shards. Returns when it wants to be called again.
  TimePoint Tick() {
    promised_tick_.store(TimePoint::min());
    wanted_tick_.store(TimePoint::max());
    DoAtAll([this](Shard& shard) {
      shard.Tick();
      WantTick(shard.NextTick());
    });
    // A shard that wants an earlier tick either finds the promise, or is found here.
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

  // Goes from shard to shard, in a loop while each is done at once. If another thread is at a shard, that thread looks
  // at it and goes on from there within the shard's turn: other work for that shard waits until the page is done, or
  // until a later shard is left to a third thread.
  template <typename Walk>
  void GoOn(uint64_t number, std::shared_ptr<Walk> walk) {
    struct Step {
      std::atomic<bool> half_done{false};  // set after the look and after Do: the second goes on
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

  std::atomic<TimePoint> wanted_tick_{TimePoint::max()};
  std::atomic<TimePoint> promised_tick_{TimePoint::max()};
  std::vector<std::unique_ptr<InTurn>> shards_;
  std::unique_ptr<Ticker> ticker_;  // ends before what it ticks
};

}  // namespace weir
