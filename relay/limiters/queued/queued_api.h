// QueuedApi: serves the endpoints that queue (throttle/limits/queued/queued_limiter.h) over HTTP. An endpoint is a path
// with a queue and a rate. The requests to the path wait in the queue, and the endpoint lets them through at its rate:
// it answers them with 200.
//
//   GET, HEAD, POST of a configured path, or of a path below it
//     ?timeout=SECONDS             refuses the request at once if its predicted wait is longer than this; replaces
//                                  queue_timeout
//     &tokens=N                    the cost of the request if the algorithm is token_window; default_tokens if it is 0
//                                  or missing
//     X-Priority: N                the request's priority if the scheduler is priority; the highest goes first
//     X-Sent-At: T                 when the client sent the request: RFC 3339, or Unix time in seconds or milliseconds;
//                                  transit_ms of the answer says how long ago that was
//   GET /debug/endpoints           shows counts, and a page of about 100 endpoints
//     ?after=PLACE                 shows the next page; PLACE is the "next" of the page before
//
// A body is accepted and ignored. A path is UTF-8 of at most 512 bytes; slashes at its end are ignored.
//
// The answer to a request that is let through is 200 with {"ok":true,"endpoint":…,"queued_for_ms":…,"queue_depth":…}
// and the configuration of the endpoint, without values that are 0 or false: "rate", "unit", "scheduler", "algorithm",
// "max_queue_size", "overflow", "burst_size", "window_seconds", "queue_timeout", "tokens_per_window", "default_tokens",
// "dynamic". For token_window there are also "tokens_consumed", "tokens_remaining", "window_capacity" and
// "waiting_for_next_window"; for a request with X-Sent-At, "transit_ms".
//
// The answer to a refused request has "ok":false and "error":{"code":…,"message":…}. If it comes from an endpoint, it
// also has the members above. The codes are:
//   429  queue_full, wait_too_long; with Retry-After
//   429  too_large: the request costs more tokens than the endpoint's window has; without Retry-After
//   400  invalid_path; not from an endpoint
//   404  unknown_path: the file was read again, and has no endpoint for the path any more. A path that never had an
//        endpoint reaches no QueuedApi: the server answers 404 not_found
//   503  too_many_waiting; closed, mostly not from an endpoint; with Retry-After
// These answers have only "error": 400 invalid_request; 401 unauthorized or 403 forbidden (the request needs an
// administrator, or comes from a page of another site); and 499 client_left (the client left while its request waited).
// A 499 is for the log. A client receives it only if it has closed its sending half of the connection and still reads.
//
// Answers that come from an endpoint have the header fields RateLimit and RateLimit-Policy.
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
