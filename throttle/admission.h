// What a caller says when it asks to be admitted, and what it gets: an Admission, which is permit, wait or refusal.
//
//   Admission admission = limiter.Admit(Operation::kWrite, Cost{batch.size()}, Party{connection_id});
//   admission.Wait();                       // at once when admitted or refused; else until one of the two
//   if (!admission.admitted()) return Busy(admission.reason(), admission.retry_after());
//   db->Write(options, &batch);             // the permit ends with the object
//
// An Admission belongs to one thread at a time and must not outlive its limiter. Destroying it while it waits cancels
// the wait; destroying it while admitted ends the permit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "config/clock.h"

namespace weir {

enum class Operation : uint8_t { kRead, kWrite };

// Interactive work has somebody waiting for it; bulk work takes what is left, though never less than its floor.
enum class WorkClass : uint8_t { kInteractive, kBulk };
inline constexpr int kWorkClasses = 2;

// Writes cost the bytes they store, reads the bytes they are likely to touch.
struct Cost {
  uint64_t bytes = 0;
};

// Whose work it is. Parties of one class share in equal parts, so a flooder waits behind itself. Those with the same
// group share one part among them, so a flooder with many parties (connections of one address) waits behind itself too;
// group 0 is no group.
struct Party {
  uint64_t id = 0;
  WorkClass work_class = WorkClass::kInteractive;
  uint64_t group = 0;
};

class Gate;
struct Waiter;

// So that this header does without Waiter's definition.
struct WaiterDeleter {
  void operator()(Waiter* waiter) const;
};

class [[nodiscard]] Admission {
 public:
  enum class State : uint8_t { kAdmitted, kWaiting, kRefused };

  Admission(Admission&& other) noexcept;
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() {
    if (gate_ != nullptr) End();
  }

  State state() const { return state_; }
  bool admitted() const { return state_ == State::kAdmitted; }
  bool waiting() const { return state_ == State::kWaiting; }
  bool refused() const { return state_ == State::kRefused; }

  // While waiting: when the turn will probably have come; the end of the longest wait where nobody can tell.
  TimePoint wait_until() const { return wait_until_; }
  // When refused: how long the way would have been blocked for this request.
  Duration retry_after() const { return retry_after_; }
  // Why it waits or was refused: the name of the signal that limits, or "emergency", "queue full", "stopped",
  // "cancelled".
  std::string_view reason() const { return reason_; }
  // How long it waited.
  Duration waited() const { return waited_; }

  // Looks again without blocking, and returns the new state.
  State Poll();

  // Blocks until the state is no longer kWaiting. Every wait has an end: the longest wait of its class.
  State Wait();

  // Ends the wait, as a refusal with the reason "cancelled", and what OnSettled was told is forgotten. True when there
  // was a wait to end; an outcome that is there already stands.
  bool Cancel();

  // For callers that may not block: `settled` is called once, from the thread that settles the wait, or here and now
  // when nothing is left to wait for. Poll() then tells the outcome. It runs, and ends, under the gate's lock: hand
  // over (post), never call back, and let it own no Admission. It is not called once the Admission is destroyed.
  void OnSettled(std::function<void()> settled);

 private:
  friend class Gate;
  friend class AdaptiveLimiter;
  Admission() = default;  // admitted, with nothing to give back
  void End();

  // Set only while something is owed to the gate: a wait to cancel or a permit to end.
  Gate* gate_ = nullptr;
  std::unique_ptr<Waiter, WaiterDeleter> waiter_;
  State state_ = State::kAdmitted;
  TimePoint wait_until_{};
  Duration retry_after_{};
  Duration waited_{};
  std::string_view reason_;
};

}  // namespace weir
