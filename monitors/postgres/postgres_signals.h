// The query for the load of a PostgreSQL server, and the signals that PostgresMonitor computes from the answer. These
// functions need no connection.
#pragma once

#include <cstdint>
#include <string>

#include "config/wire/postgres/postgres_session.h"
#include "monitors/load_sample.h"
#include "monitors/postgres/postgres_monitor.h"

namespace weir {

// Returns the query for a server of this version, such as 150006. Its answer is one row.
std::string PostgresQuestion(int server_version);
// Reads the answer of that query into `*details`; NULL is read as 0. Returns an error if the row is not of the expected
// form, or if the role may not see the standbys.
Status ReadFigures(const PostgresSession::Row& row, PostgresDetails* details);

// Adds the signals wal, replica, standby and waiting (postgres_monitor.h). Adds no replica if there is no standby.
void AddPostgresSignals(const PostgresDetails& details, const PostgresMonitorSettings& settings, LoadSample* sample);

// StandbyWait: measures how long commits have waited for a standby. PostgreSQL says when the statement of a waiting
// session began, but the statement may have run for an hour before its commit. So the wait is the time for which the
// oldest of these statements has been the same.
class StandbyWait {
 public:
  // Returns the wait at `now`; 0 if no session waits. `oldest` is the start of the oldest statement that waits, by the
  // server's clock; 0 if none waits.
  Duration Note(uint64_t oldest, TimePoint now);

 private:
  uint64_t oldest_ = 0;
  TimePoint since_{};
};

}  // namespace weir
