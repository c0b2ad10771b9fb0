#include "relay/standing/stored_history.h"

#include <algorithm>

namespace weir {

Result<bool> StoredHistory::Next(uint64_t now_seconds) {
  const Result<Admission> admission = reads_.Await();
  if (!admission.ok()) return admission.status();
  Work work = kSeekWork;
  bool sliced = false;
  const Status status = reads_.store().ScanAll(learned_, until_, [&](Serial serial, EventView event) {
    learned_.Advance(serial);
    Learn(serial.origin, event, now_seconds);
    work += kRecordWork + event.record().size();
    sliced = work >= BulkReads::kSlice.max_work;
    return !sliced;
  });
  if (!status.ok()) return status;
  return !sliced;
}

void StoredHistory::Learn(uint32_t origin, EventView event, uint64_t now_seconds) {
  if (event.created_at() > now_seconds) return;
  uint64_t& came = latest_[origin];
  came = std::max(came, event.created_at());
  authors_.Change(event.pubkey(), now_seconds, [&came](AuthorRecord& record) {
    if (record.first_seen == 0) record.first_seen = static_cast<uint32_t>(came);
    record.last_seen = std::max(record.last_seen, static_cast<uint32_t>(came));
    ++record.accepted;
    CountDay(came, &record);
  });
}

void AddLearned(const AuthorRecord& learned, AuthorRecord* record) {
  const bool shares_a_day = record->active_days > 0 && learned.last_day == record->last_day;
  record->first_seen = record->first_seen == 0 ? learned.first_seen : std::min(record->first_seen, learned.first_seen);
  record->last_seen = std::max(record->last_seen, learned.last_seen);
  record->accepted += learned.accepted;
  record->active_days = static_cast<uint16_t>(record->active_days + learned.active_days - (shares_a_day ? 1 : 0));
  record->last_day = std::max(record->last_day, learned.last_day);
}

}  // namespace weir
