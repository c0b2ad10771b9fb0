// Makes the lines for logs, grep and awk: if its output is not a terminal, `weir top` prints one for each state.
//
//   2026-11-24T12:00:00Z calm write 0.31/0.70 12.0 0.0 0.1ms bulk … No work has to wait.
#pragma once

#include <string>

#include "relay/watch/top/feed_state.h"
#include "relay/watch/top/screen.h"

namespace weir {

// Returns the line without a line feed. Shows a missing value as "-", so that every column keeps its number.
std::string PlainLine(const FeedState& state, Charset charset);

// Describes the columns, for --help.
inline constexpr const char* kPlainColumns =
    "  1 time   2 mood   3 write 4 level/setpoint 5 passed/s 6 refused/s 7 mean wait   8-12 bulk   13-17 read\n"
    "  18 ok 19 p50/p99   20 eose 21 p50/p99   22 open 23 connections/subscriptions   24 memory 25 MB/target MB\n"
    "  26 cpu 27 cores   28... a sentence: the state";

}  // namespace weir
