// EventStreamReader: reads the events of a text/event-stream (server-sent events) that arrives in pieces of any size.
//
//   EventStreamReader reader([](const std::string& name, const std::string& data) { … });
//   const Status status = reader.Take(piece);
//
// The reader stores at most one unfinished event, of at most kMostBytes bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

class EventStreamReader {
 public:
  // Four times the largest event that a relay sends: with a full history it has up to 250 KB.
  static constexpr size_t kMostBytes = 1 << 20;

  // Take calls this function for each event that has data. The lines of the data are joined with line feeds.
  using OnEvent = std::function<void(const std::string& name, const std::string& data)>;
  explicit EventStreamReader(OnEvent on_event) : on_event_(std::move(on_event)) {}

  // Reads the next piece. Skips comments and all fields but `event` and `data`. Returns an error if an event has more
  // than kMostBytes bytes; after an error, do not call Take again.
  Status Take(std::string_view piece);

 private:
  void EndLine();
  void TakeField(std::string_view name, std::string_view value);

  const OnEvent on_event_;
  std::string line_;
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last line ended with a carriage return; if a line feed follows, Take skips it
};

}  // namespace weir
