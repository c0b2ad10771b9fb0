// LiveStream: one GET /live/events. It gets an event each second. A client that does not read misses events, and is
// disconnected in the end.
#pragma once

#include <memory>
#include <string_view>

#include "relay/live/live_feed.h"
#include "relay/server/http_stream.h"

namespace weir {

// Threads: any for OnEvent, the connection's I/O thread for all else.
class LiveStream final : public HttpStreamHandler,
                         public LiveListener,
                         public std::enable_shared_from_this<LiveStream> {
 public:
  // The stream is aborted after this many events in a row that were left out because more than
  // HttpExchange::kAlwaysTaken bytes were waiting.
  static constexpr int kMostLeftOut = 10;

  explicit LiveStream(HttpExchange& exchange) : post_(exchange.poster()), exchange_(&exchange) {}

  // Starts the response. Call it once.
  void Begin();

  void OnEvent(const SharedText& event) override;
  void OnBody(std::string_view) override {}
  void OnBodyEnd() override {}
  void OnShutdown() override;
  void OnEnd(std::string_view) override { exchange_ = nullptr; }

 private:
  void Write(const std::string& event);

  const HttpPoster post_;
  HttpExchange* exchange_;  // null after its end
  int left_out_ = 0;
};

}  // namespace weir
