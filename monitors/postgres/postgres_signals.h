// What a PostgreSQL says of itself, and the signals that come of it: arithmetic, which asks nobody.
//
// Threads: none of its own.
#pragma once

#include <cstdint>
#include <string>

#include "monitors/load_sample.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/postgres/postgres_session.h"

namespace weir {

// One statement of one row.
std::string PostgresQuestion(int server_version);
// Its answer. NULL is nothing of what is counted.
Status ReadFigures(const PostgresSession::Row& row, PostgresDetails* details);

// wal, replica, standby and waiting.
void AddPostgresSignals(const PostgresDetails& details, const PostgresMonitorSettings& settings, LoadSample* sample);

// How long commits have waited for a standby. PostgreSQL tells of a session that waits when its statement began, which
// may have run for an hour before its commit. So it is for how long the oldest of them has been the same.
class StandbyWait {
 public:
  // `oldest`: when its statement began, by the server's clock; 0: nobody waits.
  Duration Note(uint64_t oldest, TimePoint now);

 private:
  uint64_t oldest_ = 0;
  TimePoint since_{};
};

}  // namespace weir
