// The question for a PostgreSQL's figures, and the signals made of its answer: arithmetic, which needs no connection.
//
// Threads: none of its own.
#pragma once

#include <cstdint>
#include <string>

#include "monitors/load_sample.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/postgres/postgres_session.h"

namespace weir {

// Returns a statement whose answer is one row.
std::string PostgresQuestion(int server_version);
// Reads its answer. NULL counts as 0.
Status ReadFigures(const PostgresSession::Row& row, PostgresDetails* details);

// Adds wal, replica, standby and waiting.
void AddPostgresSignals(const PostgresDetails& details, const PostgresMonitorSettings& settings, LoadSample* sample);

// How long commits have waited for a standby. PostgreSQL tells when the statement of a waiting session began, but that
// may have run for an hour before its commit. So the wait is the time for which the oldest of them has been the same.
class StandbyWait {
 public:
  // Returns the wait. `oldest` is when the oldest statement that waits began, by the server's clock; 0 if none waits.
  Duration Note(uint64_t oldest, TimePoint now);

 private:
  uint64_t oldest_ = 0;
  TimePoint since_{};
};

}  // namespace weir
