// EventStreamReader: the events of a text/event-stream, from pieces that are cut anywhere.
//
//   EventStreamReader reader([](const std::string& name, const std::string& data) { … });
//   const Status status = reader.Take(piece);
//
// It keeps one event that is not whole yet, of at most kMostBytes. A longer one is an error, after which it takes
// nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

class EventStreamReader {
 public:
  // Eight times the largest event of a relay whose history is full.
  static constexpr size_t kMostBytes = 1 << 20;

  using OnEvent = std::function<void(const std::string& name, const std::string& data)>;
  explicit EventStreamReader(OnEvent on_event) : on_event_(std::move(on_event)) {}

  Status Take(std::string_view piece);

 private:
  void EndLine();
  void TakeField(std::string_view name, std::string_view value);

  const OnEvent on_event_;
  std::string line_;
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // the line feed of a CR LF is still to come
};

}  // namespace weir
