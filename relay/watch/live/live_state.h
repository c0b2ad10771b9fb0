// LiveState: the state of a relay at one moment, as the live page and `weir top` show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/observe/metrics/live_tables.h"
#include "relay/watch/live/live_history.h"

namespace weir {

// The relay's condition: kUnthrottled if the throttle is off; otherwise the worst of the other conditions that apply.
enum class LiveMood : uint8_t {
  kCalm,
  kLimiting,  // the throttle limits a class of work, and its clients notice that (Sampler::Felt)
  kUnthrottled,
  kSensorLost,  // the throttle cannot measure the engine's load
  kEmergency    // memory is short
};

// Returns the name in the feed: "calm", "limiting", "unthrottled", "sensor lost" or "emergency".
std::string_view NameOf(LiveMood mood);

// An event that the page marks on its plots: a setting was changed, an emergency began or ended, the engine could no
// longer be measured or could be measured again, or the engine braked by itself.
struct LiveMark {
  double at = 0;     // seconds since 1970
  std::string kind;  // "setting", "emergency", "sensor", "engine"
  std::string text;  // "IMPORT_SETPOINT 0.7 → 0.6"
  std::string who;   // the operator who changed a setting: "127.0.0.1, by the token"; else empty
};

// A setting that can be changed while the relay runs. Its name has no prefix WEIR_.
struct LiveSetting {
  std::string name;
  std::string value;
  std::string at_start;  // the value when the relay started, which a restart brings back
};

struct LiveState {
  LiveMood mood = LiveMood::kCalm;
  // `summary` is a sentence about the whole relay. `write`, `bulk` and `read` describe one class of work each: what
  // limits this class or, if nothing does, which signal comes nearest to limiting it.
  std::string summary;
  std::string write;
  std::string bulk;
  std::string read;
  std::vector<LiveTable> tables;
  std::vector<LiveSetting> settings;
};

}  // namespace weir
