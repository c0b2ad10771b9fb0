// QueuedApi: endpoints that queue, over HTTP.
//
//   GET, POST of a configured path, or of one below it: answered when its turn has come, or refused at once
//     ?timeout=SECONDS             refused at once if the wait is predicted to be longer; instead of queue_timeout
//     &tokens=N                    its cost if the algorithm is token_window; default_tokens if it is 0 or missing
//     X-Priority: N                the higher the sooner, if the scheduler is priority
//     X-Sent-At: T                 when the client sent it (RFC 3339, or Unix time in seconds or milliseconds): the
//                                  answer says as transit_ms how long ago that was
//   GET /debug/endpoints           counts and a page of up to 100 endpoints
//     ?after=PLACE                 the page behind the one whose "next" this was
//
// A body is accepted and ignored. A path is UTF-8 of at most 512 bytes; slashes at its end are ignored.
//
// 200: {"ok":true,"endpoint":…,"queued_for_ms":…,"queue_depth":…} and the configuration of the endpoint: "rate",
// "unit", "scheduler", "algorithm", "max_queue_size", "overflow", "burst_size", "window_seconds", "queue_timeout",
// "tokens_per_window", "default_tokens", "dynamic", each only if it is not 0; for token_window also "tokens_consumed",
// "tokens_remaining", "window_capacity", "waiting_for_next_window". Else the same with "ok":false and
// "error":{"code":…,"message":…}: 429 queue_full, wait_too_long, too_large; 400 invalid_request, invalid_path; 403
// forbidden (a page of another site); 404 unknown_path; 499 client_left; 503 too_many_waiting, closed. Retry-After
// comes if waiting helps, the RateLimit header fields whenever there is an endpoint.
//
// Threads: any. A request that waits holds no thread, and leaves the line with its client.
#pragma once

#include <string_view>

#include "relay/limiters/queued/queued_metrics.h"
#include "relay/server/http.h"
#include "relay/server/log_limit.h"
#include "throttle/queued/queued_limiter.h"

namespace weir {

class QueuedApi {
 public:
  // Both must outlive it, and it must outlive the replies.
  QueuedApi(QueuedLimiter& limiter, QueuedMetrics& metrics) : limiter_(limiter), metrics_(metrics) {}

  // The caller's rights were checked before.
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
