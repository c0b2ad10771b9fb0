// Turn: runs pieces of work one at a time, in the order in which they arrived, without a lock and without a thread of
// its own.
//
//   turn.Do([&] { Count(name); }, [&] { return [this, own = std::string(name)] { Count(own); }; });
//
// At most one thread at a time holds the turn; only this thread runs pieces. If no thread holds the turn, Do takes it,
// runs the pieces that are still queued, if any, and then its own. Else Do queues its piece for the thread that holds
// the turn, and returns without waiting. A queued piece may run after Do has returned, so it must own all its data;
// Do's second argument makes such a piece.
//
// A thread that has run about kMostForOthers queued pieces after its own releases the turn, even if further pieces are
// queued. Then its call of Do returns false, and the caller must make sure that Do is called again: the next call of
// Do, from any thread, runs the queued pieces first.
//
// Threads: any thread may call Do. A piece may call Do of its own turn; the new piece is then queued.
// A piece must not throw.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir {

class Turn {
 public:
  static constexpr size_t kMostForOthers = 1024;

  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  // Destroys the queued pieces without running them.
  ~Turn() { Discard(InOrder(left_.load(std::memory_order_acquire) & ~kTaken)); }

  // Runs `piece` now, or queues make_owning() for the thread that holds the turn. Returns false if pieces are queued,
  // but no thread holds the turn any more.
  template <typename Piece, typename MakeOwning>
  bool Do(Piece&& piece, MakeOwning&& make_owning) {
    uintptr_t seen = 0;
    if (!left_.compare_exchange_strong(seen, kTaken, std::memory_order_acquire, std::memory_order_relaxed))
      return DoAmongOthers(seen, piece, make_owning);
    piece();
    return Leave();
  }

 private:
  struct Left {
    virtual ~Left() = default;
    virtual void Run() noexcept = 0;
    Left* next = nullptr;
  };
  template <typename Piece>
  struct LeftPiece final : Left {
    explicit LeftPiece(Piece own) : piece(std::move(own)) {}
    void Run() noexcept override { piece(); }
    Piece piece;
  };

  static constexpr uintptr_t kTaken = 1;  // set in left_ while a thread holds the turn
  static Left* AtAddress(uintptr_t address) {
    return reinterpret_cast<Left*>(address);  // NOLINT(performance-no-int-to-ptr): one word for both
  }

  template <typename Piece, typename MakeOwning>
  bool DoAmongOthers(uintptr_t seen, Piece& piece, MakeOwning& make_owning) {
    std::unique_ptr<Left> left;
    for (;;) {
      if ((seen & kTaken) == 0) {
        if (!left_.compare_exchange_weak(seen, kTaken, std::memory_order_acquire, std::memory_order_acquire)) continue;
        RunAll(InOrder(seen));
        piece();
        return Leave();
      }
      if (left == nullptr) left = std::make_unique<LeftPiece<decltype(make_owning())>>(make_owning());
      left->next = AtAddress(seen & ~kTaken);
      if (left_.compare_exchange_weak(seen, reinterpret_cast<uintptr_t>(left.get()) | kTaken, std::memory_order_release,
                                      std::memory_order_acquire)) {
        left.release();
        return true;
      }
    }
  }

  bool Leave() {
    uintptr_t seen = kTaken;
    if (left_.compare_exchange_strong(seen, 0, std::memory_order_release, std::memory_order_relaxed)) return true;
    return LeaveOthers();
  }

  bool LeaveOthers();
  // Reverses a list that begins with the newest piece, and returns its oldest piece.
  static Left* InOrder(uintptr_t newest);
  static size_t RunAll(Left* first);
  static void Discard(Left* first);

  std::atomic<uintptr_t> left_{0};  // the address of the newest queued piece (0: none), combined with kTaken
};

}  // namespace weir
