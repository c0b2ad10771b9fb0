// KeyedApi: the keyed limiter (throttle/keyed/keyed_limiter.h) over HTTP, in the form of the rate limiter GoCC.
// relay/limiters/openapi.json has every parameter and every answer.
//
//   GET, POST /rate/{key}          a request of the key, which is granted or refused, or waits in line if it may
//     ?canWait                     the request may wait; canWait=true says the same, in any spelling of Go's ParseBool
//     &maxRequests=N               the limits of the key from now on, if the operator lets requests set them
//     &maxRequestsInQueue=N
//   DELETE /rate/{key}/{id}        gives the grant with this id back; that works once
//   GET /debug                     counts, and a page of up to 100 keys
//     ?after=PLACE                 the page after the one whose "next" was this place
//   GET /debug/{key}               one key
//
// A key is a segment of the path, percent-decoded; an encoded slash is a part of the key. It is UTF-8 of at most 512
// bytes.
//
// A granted request is answered with 200 and
//   {"id":"…","request_id":"…","key":…,"max_requests":…,"used":…,"remaining":…,"window_millis":…,"waiting":…,
//   "waited_millis":…}
// request_id is GoCC's name for id.
//
// Errors are {"error":{"code":…,"message":…}}:
//   400  invalid_request, invalid_key
//   403  overrides_off, forbidden (the request comes from a page of another site)
//   404  unknown_grant, unknown_key
//   405  method_not_allowed: HEAD of /rate
//   429  window_full, line_full; with Retry-After, unless the key never lets a request through
//   499  client_left: the client left while its request waited. The log shows this; the answer arrives only if the
//        client has closed nothing but its half of the connection
//   503  too_many_keys, too_many_waiting, store_away, closed; with Retry-After
//
// 200 and 429 of /rate have the RateLimit header fields. Answers of /rate have the X-Correlation-ID of the request or,
// if it had none (of 1 to 128 visible ASCII characters), a new one.
//
// Threads: any. A request that waits in line holds no thread. It leaves the line if its client leaves.
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
  bool shows = false;  // the answer shows what other clients do
};

class KeyedApi {
 public:
  // `metrics` must outlive this object. The limiter must be destroyed before it, because the limiter's destructor may
  // still answer requests through it.
  KeyedApi(KeyedLimiter& limiter, KeyedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  static std::span<const KeyedRoute> Routes();
  // Answers a request for a route. Does not check whether the client may use the route. Calls `reply` once, at once or
  // later, on any thread.
  void Answer(KeyedRoute::Call call, const HttpRequest& request, HttpReply reply);
  // Adds the X-Correlation-ID of the request, or a new one, to a response.
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
