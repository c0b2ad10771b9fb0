// QueuedApi: the endpoints that queue (throttle/queued/queued_limiter.h) over HTTP. An endpoint is a path whose
// requests wait in a queue and are let through at a rate.
//
//   GET, POST of a configured path, or of one below it: answered when the endpoint lets the request through, or refused
//     ?timeout=SECONDS             refuse the request at once if its wait is predicted to be longer than this; replaces
//                                  queue_timeout
//     &tokens=N                    the cost of the request if the algorithm is token_window; default_tokens if it is 0
//                                  or missing
//     X-Priority: N                a higher number is served sooner, if the scheduler is priority
//     X-Sent-At: T                 when the client sent the request: RFC 3339, or Unix time in seconds or milliseconds;
//                                  transit_ms of the answer says how long ago that was
//   GET /debug/endpoints           counts, and a page of up to 100 endpoints
//     ?after=PLACE                 the page after the one whose "next" was this place
//
// A body is accepted and ignored. A path is UTF-8 of at most 512 bytes; slashes at its end are ignored.
//
// A request that was let through is answered with 200 and {"ok":true,"endpoint":…,"queued_for_ms":…,"queue_depth":…},
// together with the configuration of the endpoint, except values that are 0: "rate", "unit", "scheduler", "algorithm",
// "max_queue_size", "overflow", "burst_size", "window_seconds", "queue_timeout", "tokens_per_window", "default_tokens",
// "dynamic". For token_window there are also "tokens_consumed", "tokens_remaining", "window_capacity" and
// "waiting_for_next_window".
//
// A refused request has "ok":false and "error":{"code":…,"message":…}, and the members above if an endpoint was found.
// The codes are:
//   429  queue_full, wait_too_long; with Retry-After
//   429  too_large, which is never let through
//   404  unknown_path
//   400  invalid_path
//   503  too_many_waiting, closed; with Retry-After
// These answers have only "error": 400 invalid_request, 403 forbidden (the request comes from a page of another site),
// and 499 client_left (the client left while its request waited). The log shows a 499; the answer arrives only if the
// client has closed nothing but its half of the connection.
//
// If an endpoint was found, the answer has the RateLimit header fields.
//
// Threads: any. A request that waits holds no thread. It leaves the queue if its client leaves.
#pragma once

#include <string_view>

#include "relay/limiters/queued/queued_metrics.h"
#include "relay/server/http.h"
#include "relay/server/log_limit.h"
#include "throttle/queued/queued_limiter.h"

namespace weir {

class QueuedApi {
 public:
  // `metrics` must outlive this object. The limiter must be destroyed before it, because the limiter's destructor may
  // still answer requests through it.
  QueuedApi(QueuedLimiter& limiter, QueuedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  // Take passes a request to its endpoint; ShowPage answers GET /debug/endpoints. Neither checks whether the client may
  // do this. Each calls `reply` once, at once or later, on any thread.
  void Take(const HttpRequest& request, HttpReply reply);
  void ShowPage(const HttpRequest& request, HttpReply reply) const;

 private:
  class Asker;

  void LogLeft(std::string_view path);

  QueuedLimiter& limiter_;
  QueuedMetrics& metrics_;
  LogLimit left_log_;
};

}  // namespace weir
