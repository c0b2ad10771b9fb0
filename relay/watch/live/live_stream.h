// LiveStream: sends the events of the LiveFeed to one client, in answer to its GET /live/events. A client that reads
// too slowly misses events; a client that misses kMostLeftOut events in a row is disconnected.
#pragma once

#include <memory>
#include <string_view>

#include "relay/net/http_stream.h"
#include "relay/watch/live/live_feed.h"

namespace weir {

// Threads: any thread may call OnEvent; all other functions run on the I/O thread of the connection.
class LiveStream final : public HttpStreamHandler,
                         public LiveListener,
                         public std::enable_shared_from_this<LiveStream> {
 public:
  // The stream drops the connection when it has left out this many events in a row. It leaves an event out if more than
  // HttpExchange::kAlwaysTaken bytes still wait to be sent to the client.
  static constexpr int kMostLeftOut = 10;

  // `exchange` must live until OnEnd.
  explicit LiveStream(HttpExchange& exchange) : post_(exchange.poster()), exchange_(&exchange) {}

  // Sends the head of the response. Call it once, before the first event.
  void Begin();

  void OnEvent(const SharedText& event) override;
  void OnBody(std::string_view) override {}
  void OnBodyEnd() override {}
  void OnShutdown() override;
  void OnEnd(std::string_view) override { exchange_ = nullptr; }

 private:
  void Write(const std::string& event);

  const HttpPoster post_;
  HttpExchange* exchange_;  // null after OnEnd
  int left_out_ = 0;        // number of events in a row that were left out
};

}  // namespace weir
