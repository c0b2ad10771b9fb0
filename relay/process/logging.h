// The log of the whole program: spdlog's default logger, on standard error, as text or as one JSON object a line.
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
void Declare(SettingTable& table, LogLevel& level, LogFormat& format);

// Must be called before other threads log. A thread of the log's own writes the lines, so no other thread waits for the
// reader of standard error. While that reader sleeps, the newest few thousand lines are kept. That thread has the
// caller's signal mask.
void SetUpLogging(LogLevel level, LogFormat format);

// Logs a text that an operator asked for, whatever the least severity of the log.
void LogAsked(const std::string& text);

// May be called from any thread, while others log.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Returns when every line that waited is written. Lines that are logged later are lost.
void StopLogging();

}  // namespace weir
