// HeldRequest: a request for admission that a program of weir.h holds, until it ends it.
//
// Threads: every function may be called from any thread, several at once too. In a child process that fork() made, the
// request is admitted, and has no descriptor.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "throttle/admission.h"
#include "throttle/c/hosted_throttle.h"

namespace weir {

// The outcome of a request, after which no Admission is needed.
struct Outcome {
  Admission::State state = Admission::State::kAdmitted;
  std::string reason;
  Duration retry_after{};
  bool too_large = false;
};
Outcome OutcomeOf(const Admission& admission);

class HeldRequest {
 public:
  HeldRequest(std::shared_ptr<HostedThrottle> throttle, Operation operation, Cost cost, Party party);
  ~HeldRequest();
  HeldRequest(const HeldRequest&) = delete;
  HeldRequest& operator=(const HeldRequest&) = delete;

  Outcome Poll();
  // Waits for the outcome, at most for this time; nullopt: as long as its class waits.
  Outcome Wait(std::optional<Duration> timeout);
  // Returns the read end of a pipe that has a byte once the request is settled; -1 if the process has no descriptor
  // left.
  int ReadyDescriptor();

 private:
  // The limiter's thread sets it, and may do so after the HeldRequest has ended.
  struct Settled {
    ~Settled();
    void Set();
    Mutex mutex;
    Condition changed;
    bool is_set WEIR_GUARDED_BY(mutex) = false;
    int pipe[2] WEIR_GUARDED_BY(mutex) = {-1, -1};
  };

  const BirthProcess birth_;
  const std::shared_ptr<HostedThrottle> throttle_;
  const std::shared_ptr<Settled> settled_ = std::make_shared<Settled>();
  Mutex mutex_;
  Admission admission_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
