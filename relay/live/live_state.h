// The state of one moment, as the live page and `weir top` show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/live/live_history.h"
#include "relay/metrics/live_tables.h"

namespace weir {

// The relay's condition: kUnthrottled if the throttle is off, else the worst that applies.
enum class LiveMood : uint8_t { kCalm, kLimiting, kUnthrottled, kSensorLost, kEmergency };

std::string_view NameOf(LiveMood mood);

// An occurrence that is marked on the plots.
struct LiveMark {
  double at = 0;     // seconds since 1970
  std::string kind;  // "setting", "emergency", "sensor", "engine"
  std::string text;  // "bulk setpoint 0.7 → 0.6"
  std::string who;   // for a setting: "127.0.0.1, by the token"
};

// A setting that can be changed while the relay runs, by its name without WEIR_.
struct LiveSetting {
  std::string name;
  std::string value;
  std::string at_start;  // the value that a restart brings back
};

struct LiveState {
  LiveMood mood = LiveMood::kCalm;
  // One sentence each: the whole relay, and for each class of work what limits it or comes nearest to that.
  std::string summary;
  std::string write;
  std::string bulk;
  std::string read;
  std::vector<LiveTable> tables;
  std::vector<LiveSetting> settings;
};

}  // namespace weir
