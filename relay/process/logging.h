// The log of the whole program: spdlog's default logger, on standard error, as text or as one JSON object per line.
//
//   2026-11-21 17:30:12.345 info    listening on ws://127.0.0.1:3334
//   {"time":"2026-11-21T17:30:12.345Z","level":"info","message":"listening on ws://127.0.0.1:3334"}
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"

namespace weir {

enum class LogLevel : uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat : uint8_t { kText, kJson };
// Adds the settings LOG_LEVEL and LOG_FORMAT to `table`. The table's Load then sets `level` and `format`.
void Declare(SettingTable& table, LogLevel& level, LogFormat& format);

// Sets up the default logger and starts a thread that writes its lines, so that no other thread waits for the reader of
// standard error. If that reader falls behind, the newest 4,096 lines are kept and older ones are lost. The new thread
// inherits the signal mask of the calling thread. REQUIRES: no other thread logs yet.
void SetUpLogging(LogLevel level, LogFormat format);

// Logs a text that an operator asked for, even if the log level leaves out lines of level info.
void LogAsked(const std::string& text);

// SetLogLevel sets the lowest level that is logged, CurrentLogLevel returns it. May be called from any thread, while
// other threads log.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Writes all lines that are waiting, then ends the log's thread. Lines that are logged afterwards are lost.
void StopLogging();

}  // namespace weir
