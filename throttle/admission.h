// Admission: what a caller gets when it asks to be admitted: a permit, a wait or a refusal. Operation, Cost and Party
// say what it asks for.
//
//   Admission admission = limiter.Admit(Operation::kWrite, Cost{batch.size()}, Party{connection_id});
//   admission.Wait();                       // at once when admitted or refused; else until one of the two
//   if (!admission.admitted()) return Busy(admission.reason(), admission.retry_after());
//   db->Write(options, &batch);             // the permit ends with the object
//
// An Admission belongs to one thread at a time and must not outlive its limiter. Destroying it while it waits cancels
// the wait; destroying it while admitted ends the permit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "config/clock.h"

namespace weir {

enum class Operation : uint8_t { kRead, kWrite };

// A client waits for interactive work; bulk work takes what is left, though never less than its floor.
enum class WorkClass : uint8_t { kInteractive, kBulk };
inline constexpr int kWorkClasses = 2;

template <typename T>
struct ByClass : std::array<T, kWorkClasses> {
  using std::array<T, kWorkClasses>::operator[];
  T& operator[](WorkClass c) { return (*this)[static_cast<size_t>(c)]; }
  const T& operator[](WorkClass c) const { return (*this)[static_cast<size_t>(c)]; }
};

// Writes cost the bytes they store, reads the bytes they are likely to touch.
struct Cost {
  uint64_t bytes = 0;
};

// The owner of the work. Parties of one class get equal shares, so a flooder waits behind itself. Parties of the same
// group have one share among them, so a flooder with many parties (connections of one address) waits behind itself too;
// group 0 means no group.
struct Party {
  uint64_t id = 0;
  WorkClass work_class = WorkClass::kInteractive;
  uint64_t group = 0;
};

// A party of no group is a group of its own.
inline uint64_t GroupOf(const Party& party) { return party.group == 0 ? party.id : party.group; }

class Gate;
struct Waiter;

class [[nodiscard]] Admission {
 public:
  enum class State : uint8_t { kAdmitted, kWaiting, kRefused };

  // The gate's answer.
  struct Answer {
    State state = State::kAdmitted;
    std::string_view reason = "";
    TimePoint wait_until{};
    Duration retry_after{};
    Duration waited{};
  };

  Admission() = default;  // admitted, with nothing to give back
  // Made by a gate. If `gate` is not null, it is told when the wait or the permit ends.
  explicit Admission(const Answer& answer, Gate* gate = nullptr, std::shared_ptr<Waiter> waiter = nullptr)
      : gate_(gate), waiter_(std::move(waiter)), answer_(answer) {}
  Admission(Admission&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)), waiter_(std::move(other.waiter_)), answer_(other.answer_) {}
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() {
    if (gate_ != nullptr) End();
  }

  State state() const { return answer_.state; }
  bool admitted() const { return state() == State::kAdmitted; }
  bool waiting() const { return state() == State::kWaiting; }
  bool refused() const { return state() == State::kRefused; }

  // While waiting: when its turn will probably come, or the end of the longest wait if that cannot be foretold.
  TimePoint wait_until() const { return answer_.wait_until; }
  // When refused: for how much longer this request would have been blocked.
  Duration retry_after() const { return answer_.retry_after; }
  // Why it waits or was refused: the name of the signal that limits, or "cores" (for a bulk scan), "emergency", "queue
  // full", "stopped", "cancelled".
  std::string_view reason() const { return answer_.reason; }
  // How long it waited.
  Duration waited() const { return answer_.waited; }

  // Looks again without blocking, and returns the new state.
  State Poll();

  // Blocks until the state is no longer kWaiting. Every wait has an end: the longest wait of its class.
  State Wait();

  // Ends the wait as a refusal with the reason "cancelled", and drops the function that OnSettled was given. Returns
  // false if there was no wait to end: then the outcome stands, and that function has been called.
  bool Cancel();

  // For callers that may not block: `settled` is called once, from the thread that settles the wait, or here and now if
  // nothing is left to wait for. Poll() tells the outcome. `settled` runs, and is destroyed, under no lock of the
  // limiter, so it may ask for admissions, own some and end them, this one too. But it holds up the thread that
  // settles, which may be the limiter's own, so hand over (post) what takes time. If it throws, that is counted
  // (GateStats) and reported on stderr. It does not run once the Admission is destroyed: a thread that destroys or
  // cancels the Admission while it runs waits until it has returned.
  void OnSettled(std::function<void()> settled);

 private:
  void End();
  void TakeAnswer();

  // Set only while something is owed to the gate: a wait to cancel or a permit to end.
  Gate* gate_ = nullptr;
  std::shared_ptr<Waiter> waiter_;
  Answer answer_;
};

}  // namespace weir
