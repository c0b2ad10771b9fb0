#include "relay/store/bulk_reads.h"

#include <memory>

namespace weir {

Result<Admission> BulkReads::Await() {
  const Status stopped = Status::Error("the relay stops");
  while (true) {
    {
      const MutexLock lock(mutex_);
      if (stopped_) return stopped;
      settled_ = false;
    }
    if (!admit_) return Admission();
    Admission asked = admit_(Cost{kSlice.max_bytes});
    asked.OnSettled([this] {
      const MutexLock lock(mutex_);
      settled_ = true;
      changed_.notify_all();
    });
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return settled_ || stopped_; });
      if (stopped_) return stopped;
    }
    if (asked.Poll() == Admission::State::kAdmitted) return asked;
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kAskAgainAfter, [this]() WEIR_REQUIRES(mutex_) { return stopped_; });
  }
}

Result<Progress> BulkReads::Next(Query& query, const Query::OnMatch& on_match) {
  const Result<Admission> admission = Await();
  if (!admission.ok()) return admission.status();
  Result<Progress> progress = query.Next(kSlice, on_match);
  if (progress.ok() && progress.value() == Progress::kMore) query.Suspend();
  return progress;
}

Result<bool> BulkReads::Read(std::vector<Filter> filters, const QueryOptions& options, Work most,
                             const Query::OnMatch& on_match) {
  const std::unique_ptr<Query> query = store_.Find(std::move(filters), options);
  while (query->work() < most) {
    const Result<Progress> progress = Next(*query, on_match);
    if (!progress.ok()) return progress.status();
    if (progress.value() == Progress::kDone) return true;
  }
  return false;
}

void BulkReads::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace weir
