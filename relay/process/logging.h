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
// Adds the settings LOG_LEVEL and LOG_FORMAT to `table`, whose Load sets `level` and `format`.
void Declare(SettingTable& table, LogLevel& level, LogFormat& format);

// Sets up the default logger. Must be called before other threads log. The log has a thread of its own that writes the
// lines, so no other thread waits for the reader of standard error. While the reader takes nothing, the newest few
// thousand lines are kept and older ones are lost. The log's thread has the signal mask of the caller's thread.
void SetUpLogging(LogLevel level, LogFormat format);

// Logs a text that an operator asked for, even if the log leaves out lines of level info.
void LogAsked(const std::string& text);

// Set and return the least severity that is logged. May be called from any thread, while others log.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Ends the log's thread, when it has written all lines that wait. Lines that are logged afterwards are lost.
void StopLogging();

}  // namespace weir
