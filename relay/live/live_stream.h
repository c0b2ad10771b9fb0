// LiveStream: one GET /live/events. It is told each second; one who does not read is left out, and dropped in the end.
#pragma once

#include <memory>
#include <string_view>

#include "relay/live/live_feed.h"
#include "relay/server/http_stream.h"

namespace weir {

// Threads: OnEvent any, all else the connection's I/O thread.
class LiveStream final : public HttpStreamHandler,
                         public LiveListener,
                         public std::enable_shared_from_this<LiveStream> {
 public:
  // Seconds in a row in which it may leave more than HttpExchange::kAlwaysTaken waiting.
  static constexpr int kMostLeftOut = 10;

  explicit LiveStream(HttpExchange& exchange) : post_(exchange.poster()), exchange_(&exchange) {}

  // Once.
  void Begin();

  void OnEvent(const SharedText& event) override;
  void OnBody(std::string_view) override {}
  void OnBodyEnd() override {}
  void OnShutdown() override;
  void OnEnd(std::string_view) override { exchange_ = nullptr; }

 private:
  void Write(const std::string& event);

  const HttpPoster post_;
  HttpExchange* exchange_;  // null: at its end
  int left_out_ = 0;
};

}  // namespace weir
