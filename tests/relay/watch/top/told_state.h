// ToldState: the state that a relay sends at /live/events, which a test can change.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/text/json_writer.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/watch/live/live_history.h"
#include "relay/watch/top/watched.h"

namespace weir {

struct ToldState {
  uint64_t format = 1;
  uint64_t run = 7;
  double at = 1764000000;
  std::string name = "Quiet Harbour";
  std::string mood = "limiting";
  std::string summary = "Bulk work is held to 3.10 MB/s (L0 files 17 of 20: compaction is behind).";
  std::vector<LiveTable> tables;
  std::vector<LiveRow> history;
  LiveRow now;

  ToldState() {
    using enum LiveFigure;
    now.Set(kLevelWrite, 0.31);
    now.Set(kSetpointWrite, 0.85);
    now.Set(kLevelBulk, 0.69);
    now.Set(kSetpointBulk, 0.70);
    now.Set(kLevelRead, 0.02);
    now.Set(kSetpointRead, 0.85);
    now.Set(kAdmittedWrite, 12);
    now.Set(kAdmittedBulk, 12340);
    now.Set(kDelayBulk, 0.812);
    now.Set(kWaitingBulk, 3);
    now.Set(kConnections, 12);
    now.Set(kSubscriptions, 30);
    now.Set(kMemory, 210e6);
    now.Set(kMemoryTarget, 1.4e9);
    now.Set(kCpu, 0.43);
    tables.push_back({.name = "imports",
                      .title = "Imports",
                      .columns = {{"from"}, {"lines", true}, {"by what it waits"}},
                      .rows = {{"10.0.0.7", "1.20M", "L0 files"}},
                      .empty = "no import runs"});
    tables.push_back({.name = "clients",
                      .title = "Addresses that take most",
                      .columns = {{"address"}, {"workers' time", true}, {"memory", true}, {"connections", true}},
                      .rows = {{"203.0.113.9", "12 %", "1.20 MB", "3"}, {"2001:db8::17", "0.1 %", "0 B", "1"}},
                      .left_out = 3});
    tables.push_back({.name = "keys", .title = "Limits by key", .columns = {{"key"}}, .rows = {{"alice"}}});
    tables.push_back({.name = "levels",
                      .title = "RocksDB's levels",
                      .columns = {{"level"}, {"files", true}},
                      .rows = {{"L0", "17"}}});
  }

  std::string Json(bool with_history = false) const {
    JsonWriter json(JsonWriter::Layout::kCompact);
    json.Open('{');
    json.Member("format").Number(format);
    json.Member("run").Number(run);
    json.Member("at").Number(at);
    json.Member("relay").Open('{');
    json.Member("name").String(name);
    json.Member("version").String("0.1.0");
    json.Member("store").String("rocksdb");
    json.Close('}');
    json.Member("mood").String(mood);
    json.Member("summary").String(summary);
    json.Member("reasons").Open('{');
    json.Member("write").String("nothing limits; nearest: L0 files 17 of 20");
    json.Member("bulk").String("held to 3.10 MB/s (L0 files 17 of 20: compaction is behind)");
    json.Member("read").String("nothing limits; nearest: memory 210 MB of 1.40 GB");
    json.Close('}');
    json.Member("now");
    Write(now, json);
    json.Member("tables").Open('[');
    for (const LiveTable& table : tables) table.Write(json);
    json.Close(']');
    json.Member("settings").Open('{').Member("IMPORT_SETPOINT").String("0.6");
    json.Close('}').Member("changed").Open('{').Member("IMPORT_SETPOINT").String("0.7");
    json.Close('}');
    if (with_history) {
      LiveHistory rows;
      for (const LiveRow& row : history) rows.Add(row);
      json.Member("history");
      rows.Write(json);
    }
    json.Close('}');
    std::string text = std::move(json).Text();
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  // Returns the state as if a relay had sent it a moment ago.
  Watched ToWatched() const {
    Watched watched;
    watched.origin = "http://127.0.0.1:3334";
    watched.state = ReadFeedState(Json()).value();
    for (const LiveRow& row : history) watched.history.Add(row);
    return watched;
  }
};

}  // namespace weir
