// KeyedApi: serves the keyed limiter (throttle/limits/keyed/keyed_limiter.h) over HTTP. The paths and answers are those
// of the rate limiter GoCC. relay/limiters/openapi.json describes every parameter and every answer.
//
//   GET, POST /rate/{key}          asks for a grant, which allows one request of the key
//     ?canWait                     lets the request wait for the grant in the key's line; the value, if any, is true or
//                                  false in any spelling of Go's ParseBool
//     &maxRequests=N               changes the limits of the key, if WEIR_KEYED_OVERRIDES allows that
//     &maxRequestsInQueue=N
//   DELETE /rate/{key}/{id}        gives back the grant with this id; a second time the answer is 404
//   GET /debug                     shows counts, and a page of about 100 keys
//     ?after=PLACE                 shows the next page; PLACE is the "next" of the page before
//   GET /debug/{key}               shows one key
//
// A key is one segment of the path, percent-decoded, so %2F stands for a slash in the key. It is UTF-8 of 1 to 512
// bytes.
//
// The answer to a granted request is 200 with
//   {"id":"…","request_id":"…","key":…,"max_requests":…,"used":…,"remaining":…,"window_millis":…,"waiting":…,
//   "waited_millis":…}
// request_id is GoCC's name for id.
//
// Errors are {"error":{"code":…,"message":…}}:
//   400  invalid_request, invalid_key
//   401  unauthorized: only administrators may make the request, and it does not come from one
//   403  overrides_off; forbidden: the request comes from a page of another site, or only administrators may make it
//        and the server has no token for them
//   404  unknown_grant, unknown_key
//   405  method_not_allowed: HEAD of /rate
//   429  window_full, line_full; with Retry-After, unless max_requests of the key is 0
//   499  client_left: the client left while its request waited. This is for the log. A client receives it only if it
//        has closed its sending half of the connection and still reads
//   503  too_many_keys, too_many_waiting, store_away, closed; with Retry-After
//
// Granted requests and refusals with 429 have the header fields RateLimit and RateLimit-Policy. These answers to /rate
// have the header X-Correlation-ID: the value is that of the request if this has 1 to 128 visible ASCII characters,
// else a new one. Errors that the server itself gives, such as 405 for PUT, do not have it.
//
// Threads: any. A request that waits in line occupies no thread. It leaves the line if its client leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relay/limiters/keyed/keyed_metrics.h"
#include "relay/net/http.h"
#include "relay/net/log_limit.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {

struct KeyedRoute {
  enum class Call : uint8_t { kTake, kGiveBack, kKeys, kKey };
  Call call;
  std::string_view method;
  std::string_view path;
  bool shows = false;  // the answer shows the keys of other clients
};

class KeyedApi {
 public:
  // `metrics` must outlive this object. The limiter must be destroyed before this object, because the limiter's
  // destructor may still answer requests through this object.
  KeyedApi(KeyedLimiter& limiter, KeyedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  static std::span<const KeyedRoute> Routes();
  // Answers a request for a route. The caller must have checked that the client may use the route. Calls `reply` once,
  // before Answer returns or later, on any thread.
  void Answer(KeyedRoute::Call call, const HttpRequest& request, HttpReply reply);
  // Adds to the response the X-Correlation-ID of the request, or a new one, and Cache-Control: no-store.
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
