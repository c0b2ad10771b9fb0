#include "throttle/c/held_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace weir {

Outcome OutcomeOf(const Admission& admission) {
  return {.state = admission.state(),
          .reason = std::string(admission.reason()),
          .retry_after = admission.retry_after(),
          .too_large = admission.too_large()};
}

// Only the last owner is here, so no lock is needed.
HeldRequest::Settled::~Settled() WEIR_UNCHECKED_LOCKS {
  for (const int end : pipe)
    if (end >= 0) close(end);
}

void HeldRequest::Settled::Set() {
  const MutexLock lock(mutex);
  is_set = true;
  changed.notify_all();
  const char byte = 1;
  if (pipe[1] >= 0 && write(pipe[1], &byte, 1) < 0) return;  // the pipe holds it, or its reader is gone
}

HeldRequest::HeldRequest(std::shared_ptr<HostedThrottle> throttle, Operation operation, Cost cost, Party party)
    : throttle_(std::move(throttle)), admission_(throttle_->Admit(operation, cost, party)) {
  const MutexLock lock(mutex_);
  admission_.OnSettled([settled = settled_] { settled->Set(); });
}

// The wait ends before the throttle may. Only the last owner is here, so no lock is needed.
HeldRequest::~HeldRequest() WEIR_UNCHECKED_LOCKS { admission_ = Admission(); }

Outcome HeldRequest::Poll() {
  if (birth_.IsForked()) return {};  // another thread of the parent may have held the lock at the fork
  const MutexLock lock(mutex_);
  admission_.Poll();
  return OutcomeOf(admission_);
}

Outcome HeldRequest::Wait(std::optional<Duration> timeout) {
  if (birth_.IsForked()) return Poll();
  Settled& settled = *settled_;
  {
    MutexLock lock(settled.mutex);
    const auto is_set = [&settled]() WEIR_REQUIRES(settled.mutex) { return settled.is_set; };
    if (timeout) {
      settled.changed.wait_for(lock, *timeout, is_set);
    } else {
      settled.changed.wait(lock, is_set);
    }
  }
  return Poll();
}

int HeldRequest::ReadyDescriptor() {
  if (birth_.IsForked()) return -1;
  Settled& settled = *settled_;
  const MutexLock lock(settled.mutex);
  if (settled.pipe[0] < 0) {
    if (pipe2(settled.pipe, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    const char byte = 1;
    if (settled.is_set && write(settled.pipe[1], &byte, 1) < 0) return -1;
  }
  return settled.pipe[0];
}

}  // namespace weir
