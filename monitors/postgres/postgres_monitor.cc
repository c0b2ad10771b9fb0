#include "monitors/postgres/postgres_monitor.h"

#include <algorithm>
#include <utility>

#include "config/mutex.h"
#include "config/settings.h"
#include "config/text/parse.h"
#include "config/wire/postgres/postgres_session.h"
#include "monitors/memory_only_monitor.h"
#include "monitors/postgres/postgres_escapes.h"
#include "monitors/postgres/postgres_signals.h"

namespace weir {
namespace {

constexpr Duration kShortestPause = std::chrono::seconds(1);  // after a loss; doubled each time
constexpr Duration kLongestPause = std::chrono::seconds(8);

// Asks whether the server is a standby, and whether the role may see the statistics.
constexpr const char* kWho =
    "SELECT pg_is_in_recovery()::int, pg_has_role(current_user, 'pg_read_all_stats', 'usage')::int, current_user";

}  // namespace

void Declare(SettingTable& table, PostgresMonitorSettings& s) {
  table.Add("RATE_LIMIT_POSTGRES_REPLICA_BUDGET_MB", &s.replica_budget_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "bytes that a standby has still to replay at which the signal replica is 1.0");
  table.Add("RATE_LIMIT_POSTGRES_WAITING_THRESHOLD", &s.waiting_threshold, {.min = 1, .max = 1e6, .unit = "sessions"},
            "waiting sessions (for a lock or a standby) at which the signal waiting is 1.0");
  table.Add("RATE_LIMIT_POSTGRES_TIMEOUT_MS", &s.timeout, {.min = 10, .max = 60'000},
            "a sample fails if PostgreSQL does not answer within this time");
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

  Status ProbeProcess(LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (!use.ok()) return use.status();
    sample->Add(own_.Level(settings_.monitor.sample_interval));
    AddMemory(use.value(), target_bytes_, settings_.monitor.sample_interval, sample, own_.waiting_bytes());
    const MutexLock lock(details_mutex_);
    details_.own_bytes = own_.bytes();
    details_.memory = use.value();
    return {};
  }

  Status Probe(TimePoint now, LoadSample* sample) override {
    end_ = Clock::System().Now() + settings_.timeout;
    if (Status connected = Connect(now); !connected.ok()) return connected;
    PostgresDetails details = Details();
    details.server_version = session_.server_version();
    if (Status asked = AskFigures(&details); !asked.ok()) {
      NoteLoss(now, asked);
      return asked;
    }
    pause_ = kShortestPause;
    details.standby_wait = standby_wait_.Note(details.oldest_standby_wait, now);
    escapes_.Count({.requested_checkpoints = details.requested_checkpoints,
                    .backend_syncs = details.backend_syncs,
                    .log_is_beyond = details.wal_bytes > details.max_wal_bytes});
    sample->escapes = escapes_.count();
    AddPostgresSignals(details, settings_, sample);
    const MutexLock lock(details_mutex_);
    details_ = details;
    return {};
  }

  PostgresDetails Details() const {
    const MutexLock lock(details_mutex_);
    return details_;
  }

 private:
  void NoteLoss(TimePoint now, const Status& why) {
    lost_ = why;
    try_again_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  // One time-out covers a whole sample, so a caller of Stop waits no longer than that.
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
    // With this limit, a server that stood still drops a query for which the monitor no longer waits.
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
    const Result<PostgresSession::Row> row = session_.Ask(PostgresQuestion(details->server_version), Left());
    if (!row.ok()) return row.status();
    Status read = ReadFigures(row.value(), details);
    if (!read.ok()) session_.Close();
    return read;
  }

  const PostgresMonitorSettings settings_;
  const uint64_t target_bytes_;
  PostgresSession session_;
  MemoryProbe memory_;
  OwnBytes own_;
  Status lost_;
  TimePoint try_again_{};
  Duration pause_ = kShortestPause;
  TimePoint end_{};  // end of this sample's time, by Clock::System()
  PostgresEscapes escapes_;
  StandbyWait standby_wait_;
  mutable Mutex details_mutex_;
  PostgresDetails details_ WEIR_GUARDED_BY(details_mutex_);
};

PostgresMonitor::PostgresMonitor(std::string conninfo, uint64_t target_bytes, const PostgresMonitorSettings& settings,
                                 const Clock& clock, const MemoryFiles& files)
    : LoadMonitor(std::make_unique<PostgresProbe>(std::move(conninfo), target_bytes, settings, files), settings.monitor,
                  clock),
      postgres_(static_cast<PostgresProbe&>(probe())) {}

void PostgresMonitor::AddOwnBytes(int64_t bytes, OwnUse use) { postgres_.own().Add(bytes, use); }
uint64_t PostgresMonitor::own_budget_bytes() const { return postgres_.own().budget_bytes(); }

PostgresDetails PostgresMonitor::Details() const { return postgres_.Details(); }

}  // namespace weir
