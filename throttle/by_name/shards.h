// Shards: spreads the state that a limiter keeps for each name over several shards, by the hash of the name. One thread
// at a time works on a shard, without a lock (turn.h): if the shard is busy, a thread leaves its work to the thread
// that is there. No thread waits for another. A ticker (ticker.h), or the owner, calls Tick when a shard asks for it.
//
// A Shard is a class with two functions: Tick(), and NextTick(), which returns when Tick has to be called. To have Tick
// called sooner, a shard calls the function `wants_tick` that it was made with.
//
// Threads: every function may be called from any thread, except that only one thread at a time may call StartTicking or
// Stop.
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

  // Makes `count` shards, but at least one. make(number of the shard, wants_tick) returns a Shard.
  template <typename Make>
  Shards(size_t count, Make make) {
    for (size_t i = 0; i < std::max<size_t>(1, count); ++i)
      shards_.push_back(std::make_unique<InTurn>([&] { return make(i, [this](TimePoint at) { WantTick(at); }); }));
  }

  ~Shards() { Stop(); }

  // Ends the thread that ticks, and runs the pieces of work that are left at the shards.
  void Stop() {
    ticker_.reset();
    for (const auto& at : shards_)
      while (!at->turn.Do([] {}, [] { return [] {}; })) {
      }
  }

  // Starts a thread that calls Tick until Stop is called. Without this thread the owner has to call Tick.
  void StartTicking() {
    ticker_ = std::make_unique<Ticker>([this] { return Tick(); });
    ticker_->Start();
  }

  size_t size() const { return shards_.size(); }
  // Returns which of `count` shards holds the names with that hash.
  static size_t NumberOf(uint64_t hash, size_t count) { return (hash >> 32) % count; }
  // Returns a shard without entering its turn, so only for functions of the shard that any thread may call.
  const Shard& operator[](size_t number) const { return shards_[number]->shard; }

  // Calls piece(shard) once with the shard for that hash: before DoAt returns or, if another thread works on the shard,
  // a moment later in that thread. In the second case DoAt calls own(), which returns a copy of the piece that owns all
  // its data.
  template <typename Piece, typename MakeOwning>
  void DoAt(uint64_t hash, Piece&& piece, MakeOwning&& own) {
    Do(NumberOf(hash, size()), piece, own);
  }
  // Does the same with the shard that has that number.
  template <typename Piece, typename MakeOwning>
  void Do(size_t number, Piece&& piece, MakeOwning&& own) {
    InTurn& at = *shards_[number];
    const bool all_done =
        at.turn.Do([&] { piece(at.shard); }, [&] { return [&at, owned = own()]() mutable { owned(at.shard); }; });
    if (!all_done) WantTick(TimePoint::min());
  }
  // Does the same with all shards. `piece` has to own its data, because it is copied for the shards that are busy.
  template <typename Piece>
  void DoAtAll(Piece piece) {
    for (size_t i = 0; i < size(); ++i) Do(i, piece, [&] { return piece; });
  }
  // Calls gather(shard), which returns a vector<Item>, for each shard. Then calls `done` once with all items, in no
  // order, in the thread that called gather last.
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
  // for one shard after the other. Then calls `done` once with the page: before PageFrom returns or, if a shard was
  // busy, later in the thread that worked on it.
  template <typename State, typename Add>
  void PageFrom(PagePlace place, Add add, std::function<void(Page<State>)> done) {
    struct Walk {
      Page<State> page;
      Add add;
      std::function<void(Page<State>)> done;
    };
    GoOn(place.shard, std::make_shared<Walk>(Walk{Page<State>(place), std::move(add), std::move(done)}));
  }

  // Ticks all shards. Returns when Tick has to be called again.
  TimePoint Tick() {
    promised_tick_.store(TimePoint::min());
    wanted_tick_.store(TimePoint::max());
    DoAtAll([this](Shard& shard) {
      shard.Tick();
      WantTick(shard.NextTick());
    });
    // If a shard asks for an earlier tick meanwhile, WantTick sees promised_tick_, or the loop sees wanted_tick_.
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

  // Goes from shard to shard, in a loop as long as no shard is busy. If another thread works on a shard, that thread
  // does the rest of the walk from this shard on, within its turn there. Other work for this shard waits until the page
  // is done, or until a third thread takes over at a later shard.
  template <typename Walk>
  void GoOn(uint64_t number, std::shared_ptr<Walk> walk) {
    struct Step {
      std::atomic<bool> half_done{false};  // set by the piece and again after Do; whichever sets it second goes on
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

  std::atomic<TimePoint> wanted_tick_{TimePoint::max()};    // the earliest time that a shard has asked for
  std::atomic<TimePoint> promised_tick_{TimePoint::max()};  // the time that Tick returned last
  std::vector<std::unique_ptr<InTurn>> shards_;
  std::unique_ptr<Ticker> ticker_;  // last, so that it ends before the shards
};

}  // namespace weir
