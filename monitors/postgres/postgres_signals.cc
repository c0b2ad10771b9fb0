#include "monitors/postgres/postgres_signals.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr uint64_t kBytesPerMiB = uint64_t{1} << 20;

// A checkpoint paces itself by the log that is written: one that keeps pace begins at about half of max_wal_size and
// ends when the log has reached max_wal_size. A throttle that acted earlier would slow down the checkpoint itself: when
// it held the log at 0.75 of max_wal_size, bulk work got 1.8 MB/s of 43, and no checkpoint ended.
constexpr double kWalOfLevel = 1.6;
// The highest level of `standby`: a longer wait says nothing more, and the level has to fall all the way when the wait
// is over.
constexpr double kMostSeconds = 3;

// A standby counts while it streams, replays and answers: a copy (pg_basebackup, pg_receivewal) replays nothing, and a
// standby that has been silent for longer than it may be (10 s) is gone, but the server notices that only after a
// minute. Figures that the role may not see are NULL. PostgresQuestion appends the figures that versions keep in
// different places.
constexpr std::string_view kFigures =
    "WITH standbys AS (SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), replay_lsn) AS lag "
    "FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn IS NOT NULL "
    "AND reply_time > clock_timestamp() - interval '15 s'), "
    "sessions AS (SELECT wait_event_type, wait_event, state_change FROM pg_stat_activity) "
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::bigint, "
    "pg_size_bytes(current_setting('max_wal_size')), "
    "(SELECT count(*) FROM standbys), "
    "(SELECT max(lag)::bigint FROM standbys), "
    "(SELECT count(*) FROM pg_stat_replication WHERE state IS NULL), "
    "(SELECT count(*) FROM sessions WHERE wait_event_type = 'Lock'), "
    "(SELECT count(*) FROM sessions WHERE wait_event = 'SyncRep'), "
    "(SELECT (1000000 * extract(epoch FROM min(state_change)))::bigint FROM sessions WHERE wait_event = 'SyncRep'), ";
constexpr std::string_view kOfCheckpoint = " FROM pg_control_checkpoint()";
constexpr int kVersionWithCheckpointer = 170000;

}  // namespace

std::string PostgresQuestion(int server_version) {
  const bool has_checkpointer = server_version >= kVersionWithCheckpointer;
  return std::string(kFigures)
      .append(has_checkpointer ? "(SELECT num_requested FROM pg_stat_checkpointer), "
                                 "(SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io "
                                 "WHERE backend_type = 'client backend')"
                               : "(SELECT checkpoints_req FROM pg_stat_bgwriter), "
                                 "(SELECT buffers_backend_fsync FROM pg_stat_bgwriter)")
      .append(kOfCheckpoint);
}

Status ReadFigures(const PostgresSession::Row& row, PostgresDetails* details) {
  uint64_t unseen_standbys = 0;
  const std::array<uint64_t*, 10> figures = {&details->wal_bytes,
                                             &details->max_wal_bytes,
                                             &details->standbys,
                                             &details->replica_lag_bytes,
                                             &unseen_standbys,
                                             &details->lock_waits,
                                             &details->standby_waits,
                                             &details->oldest_standby_wait,
                                             &details->requested_checkpoints,
                                             &details->backend_syncs};
  bool good = row.size() == figures.size();
  for (size_t i = 0; good && i < figures.size(); ++i) {
    const Result<int64_t> figure = ParseInteger(row[i].value_or("0"), {.min = -1e18, .max = 1e18});
    good = figure.ok();
    if (good) *figures[i] = static_cast<uint64_t>(std::max<int64_t>(0, figure.value()));
  }
  if (!good || details->max_wal_bytes == 0) return Status::Error("PostgreSQL: its figures cannot be read");
  if (unseen_standbys > 0)
    return Status::Error("PostgreSQL: the role may not see the standbys; GRANT pg_monitor TO it");
  return {};
}

void AddPostgresSignals(const PostgresDetails& details, const PostgresMonitorSettings& settings, LoadSample* sample) {
  // Admitted bytes show at the next sample.
  const Duration dead_time = 2 * settings.monitor.sample_interval;
  const double wal_per_byte = std::max(settings.wal_bytes_per_byte, 0.01);
  const double max_wal = kWalOfLevel * static_cast<double>(std::max<uint64_t>(1, details.max_wal_bytes));
  const auto budget = static_cast<double>(std::max<uint64_t>(1, settings.replica_budget_mb) * kBytesPerMiB);
  sample->Add({.name = "wal",
               .level = static_cast<double>(details.wal_bytes) / max_wal,
               .bytes_per_level = max_wal / wal_per_byte,
               .dead_time = dead_time});
  // A lost standby's lag disappears without a drain, so the signal ends, and begins again with the next standby.
  if (details.standbys > 0)
    sample->Add({.name = "replica",
                 .level = static_cast<double>(details.replica_lag_bytes) / budget,
                 .bytes_per_level = budget / wal_per_byte,
                 .dead_time = dead_time});
  sample->Add({.name = kStandbySignal,
               .level = std::min(kMostSeconds, ToSeconds(details.standby_wait)),
               .bytes_per_level = budget / wal_per_byte,
               .dead_time = dead_time});
  sample->Add({.name = "waiting",
               .level = static_cast<double>(details.lock_waits + details.standby_waits) /
                        static_cast<double>(std::max<uint64_t>(1, settings.waiting_threshold))});
}

Duration StandbyWait::Note(uint64_t oldest, TimePoint now) {
  if (oldest != oldest_) since_ = now;
  oldest_ = oldest;
  return oldest > 0 ? now - since_ : Duration{};
}

}  // namespace weir
