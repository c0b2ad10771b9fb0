// KeyedApi: the keyed limiter over HTTP. relay/limiters/openapi.json has every parameter and every answer.
//
//   GET, POST /rate/{key}          one request of the key: granted, or refused, or in line if it may wait
//     ?canWait                     it may wait; canWait=true says the same, in any of the spellings of Go's ParseBool
//     &maxRequests=N               limits of the key from now on, if the operator lets requests bring them
//     &maxRequestsInQueue=N
//   DELETE /rate/{key}/{id}        gives that grant back, once
//   GET /debug, /debug/{key}       counts and a page of up to 100 keys; one key
//     ?after=PLACE                 the page behind the one whose "next" this was
//
// A key is a segment of the path, percent-decoded: an encoded slash is part of it. It is UTF-8 of at most 512 bytes.
//
// 200: {"id":"…","request_id":"…","key":…,"max_requests":…,"used":…,"remaining":…,"window_millis":…,"waiting":…,
// "waited_millis":…}; request_id is GoCC's name for id.
// Else {"error":{"code":…,"message":…}}: 400 invalid_request, invalid_key; 403 overrides_off, forbidden (a page of
// another site); 404 unknown_grant, unknown_key; 429 window_full, line_full, with Retry-After if waiting helps; 499
// client_left, which only the log gets, and a client that has closed only its half; 503 too_many_keys,
// too_many_waiting, store_away, closed. 200 and 429 have the RateLimit header fields. X-Correlation-ID comes back as it
// was sent; if there was none (of 1..128 visible ASCII characters), one is made.
//
// Threads: any. A request that waits holds no thread, and leaves the line with its client.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relay/limiters/keyed/keyed_metrics.h"
#include "relay/server/http.h"
#include "relay/server/log_limit.h"
#include "throttle/keyed/keyed_limiter.h"

namespace weir {

struct KeyedRoute {
  enum class Call : uint8_t { kTake, kGiveBack, kKeys, kKey };
  Call call;
  std::string_view method;
  std::string_view path;
  bool shows = false;  // shows what other clients do
};

class KeyedApi {
 public:
  // Both must outlive it, and it must outlive the replies.
  KeyedApi(KeyedLimiter& limiter, KeyedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  static std::span<const KeyedRoute> Routes();
  // The caller's rights were checked before.
  void Answer(KeyedRoute::Call call, const HttpRequest& request, HttpReply reply);
  // Returns the answer with the request's X-Correlation-ID.
  static HttpResponse Correlated(const HttpRequest& request, HttpResponse response);

 private:
  class Asker;

  void Take(const HttpRequest& request, HttpReply reply);
  void GiveBack(const HttpRequest& request, HttpReply reply);
  void ShowPage(const HttpRequest& request, HttpReply reply) const;
  void Show(const HttpRequest& request, HttpReply reply) const;
  void LogLeft(std::string_view key, std::string_view correlation);

  KeyedLimiter& limiter_;
  KeyedMetrics& metrics_;
  LogLimit left_log_;
};

}  // namespace weir
