// Turn: runs what it is given, one piece at a time, in the order in which it came, without a lock and without a thread.
//
//   turn.Do([&] { Count(name); }, [&] { return [this, own = std::string(name)] { Count(own); }; });
//
// A thread that finds the turn free runs its piece at once. A thread that finds it taken leaves the piece with the
// thread that has it, and goes on. Such a piece may run after Do has returned, so the second argument makes one that
// owns what it needs. No thread waits for another.
//
// A thread that runs pieces for others stops after kMostForOthers. The next thread that comes runs what is left then;
// Do returns false, and the caller sees to it that a thread comes.
//
// Threads: any. A piece may call Do of the turn that it is in; the new piece then runs later. A piece must not throw.
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
  ~Turn() { Discard(InOrder(left_.load(std::memory_order_acquire) & ~kTaken)); }

  // Returns false if pieces are left that no thread runs.
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

  static constexpr uintptr_t kTaken = 1;  // beside the address of the piece that was left last
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
  // Reverses a list in which the newest piece comes first.
  static Left* InOrder(uintptr_t newest);
  static size_t RunAll(Left* first);
  static void Discard(Left* first);

  std::atomic<uintptr_t> left_{0};
};

}  // namespace weir
