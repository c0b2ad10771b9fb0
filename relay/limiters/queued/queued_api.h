// QueuedApi: serves the endpoints that queue (throttle/limits/queued/queued_limiter.h) over HTTP. An endpoint is a path
// with a queue and a rate. Its requests wait in the queue, and the endpoint answers them ("lets them through") at its
// rate.
//
//   GET, HEAD, POST of a configured path, or of a path below it
//     ?timeout=SECONDS             refuses the request at once if its predicted wait is longer than this; replaces
//                                  queue_timeout
//     &tokens=N                    the cost of the request if the algorithm is token_window; default_tokens if it is 0
//                                  or missing
//     X-Priority: N                the request's priority if the scheduler is priority; higher numbers are served first
//     X-Sent-At: T                 when the client sent the request: RFC 3339, or Unix time in seconds or milliseconds;
//                                  transit_ms of the answer says how long ago that was
//   GET /debug/endpoints           shows counts, and a page of about 100 endpoints
//     ?after=PLACE                 shows the next page; PLACE is the "next" of the page before
//
// A body is accepted and ignored. A path is UTF-8 of at most 512 bytes; slashes at its end are ignored.
//
// The answer to a request that is let through is 200 with {"ok":true,"endpoint":…,"queued_for_ms":…,"queue_depth":…}
// and the configuration of the endpoint, without values that are 0: "rate", "unit", "scheduler", "algorithm",
// "max_queue_size", "overflow", "burst_size", "window_seconds", "queue_timeout", "tokens_per_window", "default_tokens",
// "dynamic". For token_window there are also "tokens_consumed", "tokens_remaining", "window_capacity" and
// "waiting_for_next_window".
//
// The answer to a refused request has "ok":false and "error":{"code":…,"message":…}, and also the members above if
// there is an endpoint for the path. The codes are:
//   429  queue_full, wait_too_long; with Retry-After
//   429  too_large: the request costs more tokens than the endpoint's window has; without Retry-After
//   404  unknown_path
//   400  invalid_path
//   503  too_many_waiting, closed; with Retry-After
// These answers have only "error": 400 invalid_request, 403 forbidden (the request comes from a page of another site),
// and 499 client_left (the client left while its request waited). A 499 is for the log. A client receives it only if it
// has closed its sending half of the connection and still reads.
//
// If there is an endpoint for the path, 200 and the refusals with "ok":false have the RateLimit header fields.
//
// Threads: any. A request that waits occupies no thread. It leaves the queue if its client leaves.
#pragma once

#include <string_view>

#include "relay/limiters/queued/queued_metrics.h"
#include "relay/net/http.h"
#include "relay/net/log_limit.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {

class QueuedApi {
 public:
  // `metrics` must outlive this object. The limiter must be destroyed before this object, because the limiter's
  // destructor may still answer requests through this object.
  QueuedApi(QueuedLimiter& limiter, QueuedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  // Take passes a request to its endpoint; ShowPage answers GET /debug/endpoints. The caller must have checked that the
  // client may do this. Both call `reply` once, before they return or later, on any thread.
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
