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

// Before other threads log. Lines are written by a thread of its own, so that no other waits for whoever reads them;
// while that reader sleeps, the newest few thousand lines are kept. The caller's signal mask is that thread's too.
void SetUpLogging(LogLevel level, LogFormat format);

// What somebody asked for, and so wants to see, whatever least severity the log has.
void LogAsked(const std::string& text);

// From any thread, while others log.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Returns when every line that waited is written. What is logged later is lost.
void StopLogging();

}  // namespace weir
