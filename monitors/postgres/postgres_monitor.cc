#include "monitors/postgres/postgres_monitor.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "config/settings.h"
#include "config/text/parse.h"
#include "monitors/memory_only_monitor.h"
#include "monitors/own_bytes.h"
#include "monitors/postgres/postgres_escapes.h"
#include "monitors/postgres/postgres_session.h"

namespace weir {
namespace {

constexpr Duration kShortestPause = std::chrono::seconds(1);  // after a loss; each time twice as long
constexpr Duration kLongestPause = std::chrono::seconds(8);
constexpr uint64_t kMiB = uint64_t{1} << 20;

// A checkpoint paces itself by what is written: one that keeps pace ends when that has come to max_wal_size, and begins
// at about half of it. A throttle that acted below would slow down the checkpoint itself: held at 0.75 of max_wal_size,
// bulk work got 1.8 MB/s of 43, and no checkpoint came to its end.
constexpr double kWalOfLevel = 1.6;
// Of waiting for a standby: what more says nothing more, and has to be forgotten when it is over.
constexpr double kMostSeconds = 3;

// Whether it may be asked, and can be.
constexpr const char* kWho =
    "SELECT pg_is_in_recovery()::int, pg_has_role(current_user, 'pg_read_all_stats', 'usage')::int, current_user";
// What is counted elsewhere in one version or another is put behind it.
constexpr std::string_view kFigures =
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::bigint, "
    "pg_size_bytes(current_setting('max_wal_size')), "
    "(SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'), "
    "(SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), coalesce(replay_lsn, sent_lsn))), 0)::bigint "
    "FROM pg_stat_replication WHERE state = 'streaming'), "
    "(SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'), "
    "(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'), "
    "(SELECT coalesce(max(1000 * extract(epoch FROM clock_timestamp() - state_change)), 0)::bigint "
    "FROM pg_stat_activity WHERE wait_event = 'SyncRep'), ";
constexpr std::string_view kOfCheckpoint = " FROM pg_control_checkpoint()";
constexpr int kVersionWithCheckpointer = 170000;
constexpr size_t kFigureCount = 9;

std::string FiguresOf(int server_version) {
  const bool has_checkpointer = server_version >= kVersionWithCheckpointer;
  return std::string(kFigures)
      .append(has_checkpointer ? "(SELECT num_requested FROM pg_stat_checkpointer), "
                                 "(SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io "
                                 "WHERE backend_type = 'client backend')"
                               : "(SELECT checkpoints_req FROM pg_stat_bgwriter), "
                                 "(SELECT buffers_backend_fsync FROM pg_stat_bgwriter)")
      .append(kOfCheckpoint);
}

}  // namespace

void Declare(SettingTable& table, PostgresMonitorSettings& s) {
  table.Add("RATE_LIMIT_POSTGRES_REPLICA_BUDGET_MB", &s.replica_budget_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "what a standby may have to replay: the signal replica is 1.0");
  table.Add("RATE_LIMIT_POSTGRES_WAITING_THRESHOLD", &s.waiting_threshold, {.min = 1, .max = 1e6, .unit = "sessions"},
            "that wait for a lock or for a standby: the signal waiting is 1.0");
  table.Add("RATE_LIMIT_POSTGRES_TIMEOUT_MS", &s.timeout, {.min = 10, .max = 60'000},
            "without an answer of PostgreSQL in this time a sample has failed");
}

class PostgresProbe final : public LoadProbe {
 public:
  PostgresProbe(std::string conninfo, uint64_t target_bytes, const PostgresMonitorSettings& settings,
                const MemoryFiles& files)
      : settings_(settings),
        target_bytes_(target_bytes),
        session_(std::move(conninfo)),
        memory_(files),
        own_(settings.own_budget_mb, target_bytes) {}

  OwnBytes& own() { return own_; }

  Status Probe(TimePoint now, LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (!use.ok()) return use.status();
    end_ = Clock::System().Now() + settings_.timeout;
    if (Status connected = Connect(now); !connected.ok()) return connected;
    PostgresDetails details{.server_version = session_.server_version(), .memory = use.value()};
    details.own_bytes = own_.bytes();
    if (Status asked = AskFigures(&details); !asked.ok()) {
      NoteLoss(now, asked);
      return asked;
    }
    pause_ = kShortestPause;
    escapes_.Count({.requested_checkpoints = details.requested_checkpoints,
                    .backend_syncs = details.backend_syncs,
                    .log_is_beyond = details.wal_bytes > details.max_wal_bytes});
    AddSignals(details, sample);
    const std::lock_guard lock(details_mutex_);
    details_ = details;
    return {};
  }

  PostgresDetails Details() const {
    const std::lock_guard lock(details_mutex_);
    return details_;
  }

 private:
  void NoteLoss(TimePoint now, const Status& why) {
    lost_ = why;
    try_again_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  // All of a sample in one time-out: who stops the monitor waits for no more.
  Duration Left() const { return end_ - Clock::System().Now(); }

  Status Connect(TimePoint now) {
    if (session_.connected()) return {};
    if (!lost_.ok() && now < try_again_) return lost_;
    escapes_.Forget();
    Status connected = session_.Connect(Left());
    if (connected.ok()) connected = CheckRights();
    if (!connected.ok()) NoteLoss(now, connected);
    return connected;
  }

  Status CheckRights() {
    // A server that stands still ends by itself what nobody waits for any more.
    const std::string limit = "SET statement_timeout = " + std::to_string(settings_.timeout.count()) + "; ";
    const Result<PostgresSession::Row> who = session_.Ask(limit + kWho, Left());
    if (!who.ok()) return who.status();
    const PostgresSession::Row& row = who.value();
    std::string why;
    if (row.size() != 3) {
      why = "this is no PostgreSQL";
    } else if (row[0] != "0") {
      why =
          "this server is a standby, to which nobody writes; name the primary, or several hosts and "
          "target_session_attrs=read-write";
    } else if (row[1] != "1") {
      why = "the role " + Printable(row[2].value_or("")) + " may not see what others wait for; GRANT pg_monitor TO it";
    }
    if (why.empty()) return {};
    session_.Close();
    return Status::Error("PostgreSQL: " + why);
  }

  Status AskFigures(PostgresDetails* details) {
    const Result<PostgresSession::Row> row = session_.Ask(FiguresOf(details->server_version), Left());
    if (!row.ok()) return row.status();
    const std::array<uint64_t*, kFigureCount> figures = {&details->wal_bytes,
                                                         &details->max_wal_bytes,
                                                         &details->standbys,
                                                         &details->replica_lag_bytes,
                                                         &details->lock_waits,
                                                         &details->standby_waits,
                                                         &details->longest_standby_wait_ms,
                                                         &details->requested_checkpoints,
                                                         &details->backend_syncs};
    bool good = row.value().size() == figures.size();
    for (size_t i = 0; good && i < figures.size(); ++i) {
      const Result<int64_t> figure = ParseInteger(row.value()[i].value_or("0"), {.min = -1e18, .max = 1e18});
      good = figure.ok();
      if (good) *figures[i] = static_cast<uint64_t>(std::max<int64_t>(0, figure.value()));
    }
    if (good && details->max_wal_bytes > 0) return {};
    session_.Close();
    return Status::Error("PostgreSQL: its figures cannot be read");
  }

  void AddSignals(const PostgresDetails& details, LoadSample* sample) const {
    // What was admitted shows at the next sample.
    const Duration dead_time = 2 * settings_.monitor.sample_interval;
    const double wal_per_byte = std::max(settings_.wal_bytes_per_byte, 0.01);
    const double max_wal = kWalOfLevel * static_cast<double>(details.max_wal_bytes);
    const auto budget = static_cast<double>(std::max<uint64_t>(1, settings_.replica_budget_mb) * kMiB);
    sample->Add({.name = "wal",
                 .level = static_cast<double>(details.wal_bytes) / max_wal,
                 .bytes_per_level = max_wal / wal_per_byte,
                 .dead_time = dead_time});
    // A standby that goes takes its lag with it, and that is no drain: the signal ends, and begins with the next one.
    if (details.standbys > 0)
      sample->Add({.name = "replica",
                   .level = static_cast<double>(details.replica_lag_bytes) / budget,
                   .bytes_per_level = budget / wal_per_byte,
                   .dead_time = dead_time});
    sample->Add({.name = "standby",
                 .level = std::min(kMostSeconds, static_cast<double>(details.longest_standby_wait_ms) / 1000),
                 .bytes_per_level = budget / wal_per_byte,
                 .dead_time = dead_time});
    sample->Add({.name = "waiting",
                 .level = static_cast<double>(details.lock_waits + details.standby_waits) /
                          static_cast<double>(std::max<uint64_t>(1, settings_.waiting_threshold))});
    sample->Add(own_.Level(settings_.monitor.sample_interval));
    const Signal memory = MemorySignal(details.memory.bytes(), target_bytes_, settings_.monitor.sample_interval);
    sample->Add(memory);
    sample->memory_pressure = memory.level;
    sample->memory_bytes = details.memory.bytes();
    sample->escapes = escapes_.count();
  }

  const PostgresMonitorSettings settings_;
  const uint64_t target_bytes_;
  PostgresSession session_;
  MemoryProbe memory_;
  OwnBytes own_;
  Status lost_;
  TimePoint try_again_{};
  Duration pause_ = kShortestPause;
  TimePoint end_{};  // of this sample, by the system's clock
  PostgresEscapes escapes_;
  mutable std::mutex details_mutex_;
  PostgresDetails details_;
};

PostgresMonitor::PostgresMonitor(std::string conninfo, uint64_t target_bytes, const PostgresMonitorSettings& settings,
                                 const Clock& clock, const MemoryFiles& files)
    : LoadMonitor(std::make_unique<PostgresProbe>(std::move(conninfo), target_bytes, settings, files), settings.monitor,
                  clock),
      postgres_(static_cast<PostgresProbe&>(probe())) {}

void PostgresMonitor::AddOwnBytes(int64_t bytes) { postgres_.own().Add(bytes); }
uint64_t PostgresMonitor::own_budget_bytes() const { return postgres_.own().budget_bytes(); }

PostgresDetails PostgresMonitor::Details() const { return postgres_.Details(); }

}  // namespace weir
