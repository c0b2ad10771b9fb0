// Admission: the answer to a request for admission (AdaptiveLimiter::Admit). The request is admitted, waits or is
// refused. Operation, Cost and Party describe the request.
//
//   Admission admission = limiter.Admit(Operation::kWrite, Cost{batch.size()}, Party{connection_id});
//   admission.Wait();                       // blocks until the request is admitted or refused
//   if (!admission.admitted()) return Busy(admission.reason(), admission.retry_after());
//   db->Write(options, &batch);             // destroy `admission` after that, not before
//
// Only one thread at a time may use an Admission. An Admission that waits or holds a permit must not outlive its
// limiter, whose destructor asserts it. An admitted scan may hold a permit: the scan counts as running until its
// Admission is destroyed, so keep the Admission until the scan is done. Destroying an Admission that waits cancels the
// wait.
//
// In a child process that fork() made, a request that waited is admitted as soon as Poll, Wait, Cancel or OnSettled is
// called, because the limiter's thread does not exist there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "config/birth_process.h"
#include "config/clock.h"

namespace weir {

enum class Operation : uint8_t { kRead, kWrite };

// kInteractive: work whose result a client awaits. kBulk: work that may be delayed longer, such as an import; it gets
// the capacity that interactive work leaves, but never less than a small share (write_gate.h, scan_gate.h).
enum class WorkClass : uint8_t { kInteractive, kBulk };
inline constexpr int kWorkClasses = 2;

// An array with one T for each class of work, indexed by WorkClass.
template <typename T>
struct ByClass : std::array<T, kWorkClasses> {
  using std::array<T, kWorkClasses>::operator[];
  T& operator[](WorkClass c) { return (*this)[static_cast<size_t>(c)]; }
  const T& operator[](WorkClass c) const { return (*this)[static_cast<size_t>(c)]; }
};

// The cost of an operation: for a write the bytes that it stores, for a read the bytes that it is likely to touch. A
// write of more than 1 TiB is refused, because such a cost is a mistake.
struct Cost {
  uint64_t bytes = 0;
};

// The client for which the work is done, such as a connection. The waiting parties of one class get equal shares of the
// admitted bytes, so a party that requests too much delays only its own requests. A large write pays for its bytes
// before it is admitted, and small writes of other parties pass meanwhile (write_gate.h). All parties of a group
// together get one such share, so a client gains nothing by having many parties (such as many connections from one
// address). Group 0 means that the party is in no group.
struct Party {
  uint64_t id = 0;
  WorkClass work_class = WorkClass::kInteractive;
  uint64_t group = 0;
};

// Returns the group of the party. A party without a group is a group of its own, under its own id.
inline uint64_t GroupOf(const Party& party) { return party.group == 0 ? party.id : party.group; }

class AdmissionSource;
struct Waiter;

class [[nodiscard]] Admission {
 public:
  enum class State : uint8_t { kAdmitted, kWaiting, kRefused };

  // The gate's decision; the functions below describe its fields.
  struct Answer {
    State state = State::kAdmitted;
    std::string_view reason = "";
    TimePoint wait_until{};
    Duration retry_after{};
    Duration waited{};
    bool too_large = false;
  };

  Admission() = default;  // admitted, and holds no permit
  // Called only by gates. `source` is the gate if the request waits or has a permit; the Admission then ends the wait
  // or the permit when it is destroyed. Otherwise `source` is null.
  explicit Admission(const Answer& answer, AdmissionSource* source = nullptr, std::shared_ptr<Waiter> waiter = nullptr)
      : source_(source), waiter_(std::move(waiter)), answer_(answer) {}
  Admission(Admission&& other) noexcept
      : source_(std::exchange(other.source_, nullptr)), waiter_(std::move(other.waiter_)), answer_(other.answer_) {}
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() {
    if (source_ != nullptr) End();
  }

  State state() const { return answer_.state; }
  bool admitted() const { return state() == State::kAdmitted; }
  bool waiting() const { return state() == State::kWaiting; }
  bool refused() const { return state() == State::kRefused; }

  // Returns the time at which a waiting request will probably be admitted, as predicted when it began to wait; its
  // deadline if no prediction was possible.
  TimePoint wait_until() const { return answer_.wait_until; }
  // Returns how much longer a refused request would probably have had to wait, at most an hour; the longest wait of its
  // class if that cannot be predicted or the queue was full; 0 if the reason is "stopped" or "cancelled", or if the
  // cost is a mistake.
  Duration retry_after() const { return answer_.retry_after; }
  // Returns true if the request was refused for its own size, because it could not be paid within the longest wait even
  // if no other request waited, or because the cost is a mistake. Do not try again with the same size: split it.
  bool too_large() const { return answer_.too_large; }
  // Returns why the request waits, waited or was refused: the name of the signal that limits this work, "cores" (for a
  // bulk scan), "emergency", "sensor lost", "queue full", "stopped" or "cancelled". For a write that is too large to be
  // admitted within the longest wait, or whose cost is a mistake, the reason is a sentence that says so. Empty if the
  // request was admitted at once.
  std::string_view reason() const { return answer_.reason; }
  // Returns how long the request waited until it was admitted or refused; 0 while it waits or if it was cancelled.
  Duration waited() const { return answer_.waited; }

  // Returns the present state without blocking. If the request waits, first lets the gate admit or refuse all of its
  // requests whose turn or deadline has come, including this one; their OnSettled functions may run in this thread.
  State Poll();

  // Blocks until the state is no longer kWaiting, and returns the state. The wait lasts at most as long as the longest
  // wait of its class. The calling thread sleeps until the turn or the deadline of the request, and then lets the gate
  // admit or refuse all of its requests whose turn or deadline has come; their OnSettled functions do not run in this
  // thread. It needs no call of Pump by another thread, if the limiter's clock runs.
  State Wait();

  // If the request waits, ends the wait and returns true: the state becomes kRefused with the reason "cancelled", and
  // the function passed to OnSettled is destroyed without being called. If the request was already admitted or refused,
  // Cancel leaves the outcome as it is and returns false. In this case it first calls the function passed to OnSettled,
  // if no thread has called it yet, or waits until the thread that is running it has finished. (If that function itself
  // calls Cancel, Cancel does not wait.)
  bool Cancel();

  // Sets a callback, for callers that must not block. Once the request is admitted or refused, one thread calls
  // `settled`, once; Poll() then returns the outcome. The thread is the limiter's, or one that calls Tick, Pump or
  // Stop, or that polls, cancels, destroys or overwrites an Admission of the limiter. If the request is not waiting,
  // OnSettled itself calls `settled` before it returns, and passes on any exception. A second call of OnSettled during
  // the wait replaces the first callback.
  //
  // The limiter holds no lock while it calls and destroys `settled`, so `settled` may request, own and destroy
  // Admissions, including this one. But `settled` delays the limiter, so it should post long work to another thread. If
  // `settled` throws when the limiter calls it, the limiter counts the exception (GateStats) and reports it on stderr.
  //
  // `settled` is not called if the Admission is cancelled while it waits, or destroyed before a thread calls `settled`.
  // A thread that cancels or destroys the Admission while `settled` runs in another thread waits until `settled` has
  // returned.
  void OnSettled(std::function<void()> settled);

 private:
  friend class AdmissionSource;

  void End();
  void PassIfForked();

  // Null unless a wait or a permit still has to end.
  AdmissionSource* source_ = nullptr;
  std::shared_ptr<Waiter> waiter_;
  Answer answer_;
};

// The interface through which an Admission asks the gate that made it. Any thread may call any function. `waiter` is
// that of the admission. The functions that take an admission update it before they call OnSettled functions, which may
// destroy or overwrite it.
class AdmissionSource {
 public:
  // Returns true in a child that fork() made of the gate's process: the gate must not be called there.
  bool IsForked() const { return birth_.IsForked(); }

  // These do what the functions of Admission with the same names promise.
  virtual Admission::State Poll(Admission& admission, Waiter& waiter) = 0;
  virtual Admission::State Wait(Admission& admission, Waiter& waiter) = 0;
  virtual bool Cancel(Admission& admission, Waiter& waiter) = 0;
  // Returns false, and leaves `*settled` unchanged, if the request is settled. Otherwise swaps `*settled` with the
  // function that the waiter had.
  virtual bool SetOnSettled(Waiter& waiter, std::function<void()>* settled) = 0;
  // Ends the wait, or the permit. `waiter` is null if the request never waited. When End returns, the waiter's
  // OnSettled function has returned or will never be called, unless the calling thread is running it.
  virtual void End(Waiter* waiter) = 0;

 protected:
  ~AdmissionSource() = default;

  // Gives the admission the answer of its settled request. If `is_done` is true, the admission releases the waiter, and
  // if also `has_permit` is false, its pointer to the gate.
  static void Give(Admission& admission, const Admission::Answer& answer, bool is_done, bool has_permit);

 private:
  const BirthProcess birth_;
};

}  // namespace weir
