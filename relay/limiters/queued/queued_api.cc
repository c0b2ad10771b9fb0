#include "relay/limiters/queued/queued_api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/text/in_words.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/rfc3339.h"
#include "config/text/url.h"
#include "relay/limiters/page_places.h"
#include "relay/limiters/rate_limit_fields.h"
#include "relay/net/http_error.h"

namespace weir {
namespace {

using Algorithm = EndpointConfig::Algorithm;
using std::chrono::milliseconds;

constexpr NumberRange kTimeouts = {.min = 0, .max = 2'678'400, .unit = "seconds"};
constexpr NumberRange kTokens = {.min = 0, .max = 1e15, .unit = "tokens"};
constexpr NumberRange kPriorities = {.min = -kMostPriority, .max = kMostPriority};
// A number below this is Unix time in seconds (until the year 5138), any other is in milliseconds (since 1973).
constexpr double kLeastMilliseconds = 1e11;
constexpr NumberRange kUnixTimes = {.min = 0, .max = 1e14, .unit = "Unix time in seconds or milliseconds"};

// Returns what is wrong with the query, or an empty text.
std::string ReadQuery(std::string_view query, QueuedRequest* read) {
  while (const auto parameter = TakeParameter(&query)) {
    const std::string_view name = parameter->name;
    const std::string_view value = parameter->value.value_or("");
    const auto wrong = [&](const Status& status) {
      return std::string(name) + ": " + Printable(value) + " is " + status.message();
    };
    if (name == "timeout") {
      const auto seconds = ParseNumber(value, kTimeouts);
      if (read->timeout) return "timeout is there twice";
      if (!seconds.ok()) return wrong(seconds.status());
      read->timeout = FromSeconds(seconds.value());
    } else if (name == "tokens") {
      const auto tokens = ParseUnsigned(value, kTokens);
      if (read->tokens) return "tokens is there twice";
      if (!tokens.ok()) return wrong(tokens.status());
      read->tokens = tokens.value();
    } else {
      return "found the parameter " + Printable(name) + ", expected one of timeout, tokens";
    }
  }
  return "";
}

std::string ReadPriority(std::string_view text, int32_t* priority) {
  if (text.empty()) return "";
  const auto read = ParseInteger(text, kPriorities);
  if (!read.ok()) return "X-Priority: " + Printable(text) + " is " + read.status().message();
  *priority = static_cast<int32_t>(read.value());
  return "";
}

std::string ReadSentAt(std::string_view text, std::optional<WallTime>* sent_at) {
  if (text.empty()) return "";
  if ((*sent_at = ParseTime(text))) return "";
  const auto number = ParseNumber(text, kUnixTimes);
  if (!number.ok())
    return "X-Sent-At: " + Printable(text) + " is not a time of RFC 3339, and " + number.status().message();
  const double seconds = number.value() >= kLeastMilliseconds ? number.value() / 1000 : number.value();
  *sent_at = WallTime(FromSeconds(std::min(seconds, 9e9)));
  return "";
}

int StatusOf(QueuedCode code) {
  switch (code) {
    case QueuedCode::kServed:
      return 200;
    case QueuedCode::kInvalidPath:
      return 400;
    case QueuedCode::kUnknownPath:
      return 404;
    case QueuedCode::kTooLarge:
    case QueuedCode::kTooLongWait:
    case QueuedCode::kQueueFull:
      return 429;
    default:
      return 503;
  }
}

std::string Reason(std::string_view path, const QueuedAnswer& answer) {
  switch (answer.code) {
    case QueuedCode::kTooLarge:
      return Printable(path) + ": it costs more than the " + std::to_string(answer.config->tokens_per_window) +
             " tokens of a window";
    case QueuedCode::kTooLongWait:
      return Printable(path) + ": " + std::to_string(answer.waiting) +
             " wait, and the wait would be longer than its time-out; try again in " + InWords(answer.retry_after);
    case QueuedCode::kQueueFull:
      return Printable(path) + ": the queue of " + std::to_string(answer.config->max_queue_size) + " is full";
    case QueuedCode::kInvalidPath:
      return "a path has at most " + std::to_string(kMostPathBytes) + " bytes";
    case QueuedCode::kUnknownPath:
      return Printable(path) + ": neither it nor a path above it is among the endpoints of WEIR_CONFIG";
    case QueuedCode::kTooManyWaiting:
      return "no more requests can wait, at any endpoint (WEIR_QUEUED_MAX_WAITING)";
    case QueuedCode::kClosed:
      return "the server is shutting down";
    case QueuedCode::kServed:
      break;
  }
  return "";
}

template <typename Number>
void AddUnlessZero(std::string_view name, Number value, JsonWriter* json) {
  if (value != 0) json->Member(name).Number(value);
}

double Seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

void Write(const EndpointConfig& config, bool dynamic, JsonWriter* json) {
  AddUnlessZero("rate", config.rate, json);
  if (config.rate != 0) json->Member("unit").String(EndpointConfig::kUnits[static_cast<size_t>(config.unit)]);
  json->Member("scheduler").String(EndpointConfig::kSchedulers[static_cast<size_t>(config.scheduler)]);
  json->Member("algorithm").String(EndpointConfig::kAlgorithms[static_cast<size_t>(config.algorithm)]);
  AddUnlessZero("max_queue_size", config.max_queue_size, json);
  json->Member("overflow").String(EndpointConfig::kOverflows[static_cast<size_t>(config.overflow)]);
  AddUnlessZero("burst_size", config.burst_size, json);
  AddUnlessZero("window_seconds", Seconds(config.window), json);
  AddUnlessZero("queue_timeout", Seconds(config.queue_timeout), json);
  AddUnlessZero("tokens_per_window", config.tokens_per_window, json);
  AddUnlessZero("default_tokens", config.default_tokens, json);
  if (dynamic) json->Member("dynamic").Bool(true);
}

void AddFields(const QueuedAnswer& answer, HttpFields* fields) {
  const EndpointConfig& config = *answer.config;
  LimitState state{.policy = "requests", .window = config.window, .remaining = answer.left, .reset = answer.until_room};
  switch (config.algorithm) {
    case Algorithm::kTokenWindow:
      state.policy = "tokens";
      state.unit = "tokens";
      state.amount = config.tokens_per_window;
      break;
    case Algorithm::kSlidingWindow:
      state.amount = config.most_in_window;
      break;
    default:
      // A rate below 1 is shown as 1 request in a longer window.
      state.amount = static_cast<int64_t>(std::max(1.0, config.rate));
      state.window = FromSeconds(std::max(1.0, config.rate) / config.per_second());
      if (config.algorithm == Algorithm::kTokenBucket) state.burst = config.burst_size;
  }
  AddRateLimitFields({&state, 1}, fields);
}

// `sent_ago` is set if the client has stated when it sent the request.
HttpResponse ResponseTo(std::string_view path, const QueuedAnswer& answer, std::optional<Duration> sent_ago) {
  const int status = StatusOf(answer.code);
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("ok").Bool(status == 200);
  if (status != 200) WriteErrorMember(NameOf(answer.code), Reason(path, answer), json);
  if (answer.config != nullptr) {
    json.Member("endpoint").String(answer.endpoint);
    json.Member("queued_for_ms").Number(std::chrono::ceil<milliseconds>(answer.waited).count());
    if (sent_ago) json.Member("transit_ms").Number(std::chrono::floor<milliseconds>(*sent_ago).count());
    json.Member("queue_depth").Number(answer.waiting);
    Write(*answer.config, answer.dynamic, &json);
    if (answer.config->algorithm == Algorithm::kTokenWindow) {
      json.Member("tokens_consumed").Number(answer.tokens);
      json.Member("tokens_remaining").Number(answer.left);
      json.Member("window_capacity").Number(answer.config->tokens_per_window);
      json.Member("waiting_for_next_window").Number(answer.waiting);
    }
  }
  json.Close('}');
  HttpResponse response = JsonResponse(status, std::move(json).Text());
  if (answer.config != nullptr) AddFields(answer, &response.headers);
  if (status == 503 || (status == 429 && answer.code != QueuedCode::kTooLarge))
    response.headers.emplace_back("Retry-After", RetryAfterSeconds(answer.retry_after));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

void Write(const EndpointState& state, JsonWriter* json) {
  json->Open('{');
  json->Member("endpoint").String(state.path);
  json->Member("queue_depth").Number(state.queued);
  json->Member("waiting_before_queue").Number(state.blocked);
  json->Member("left").Number(state.left);
  json->Member("served").Number(state.served);
  json->Member("rejected").Number(state.rejected);
  Write(*state.config, state.dynamic, json);
  json->Close('}');
}

}  // namespace

// A request that may have to wait. Its wait ends with its answer, or when its client leaves, whichever comes first.
class QueuedApi::Asker final : public QueuedCaller, public std::enable_shared_from_this<QueuedApi::Asker> {
 public:
  Asker(QueuedApi& api, const HttpRequest& request, HttpReply reply)
      : api_(api), path_(request.path), reply_(std::move(reply)) {}

  const std::string& path() const { return path_; }

  // Returns what is wrong with the request, or an empty text.
  std::string Read(const HttpRequest& request, QueuedRequest* read) {
    std::optional<WallTime> sent_at;
    std::string why = ReadQuery(request.query, read);
    if (why.empty()) why = ReadPriority(request.Header("x-priority"), &read->priority);
    if (why.empty()) why = ReadSentAt(request.Header("x-sent-at"), &sent_at);
    // A time in the future, by this machine's clock, counts as now.
    if (sent_at) sent_ago_ = std::max(Duration{}, WallClock::System().Now() - std::max(WallTime{}, *sent_at));
    return why;
  }
  void Refuse(std::string why) {
    api_.metrics_.OnInvalidRequest();
    reply_(ErrorResponse(400, "invalid_request", std::move(why)));
  }

  void OnWaiting(QueuedTicket ticket) override {
    reply_.OnLeft([self = shared_from_this(), ticket](HttpLeft why) { self->OnLeft(ticket, why); });
  }
  bool StillWaits() override { return !ended_.exchange(true); }
  void OnAnswer(const QueuedAnswer& answer) override {
    api_.metrics_.OnAnswer(answer);
    reply_(ResponseTo(path_, answer, sent_ago_));
  }

 private:
  void OnLeft(QueuedTicket ticket, HttpLeft why) {
    if (ended_.exchange(true)) return;
    api_.limiter_.Leave(ticket);
    if (why == HttpLeft::kServer) return OnAnswer({.code = QueuedCode::kClosed});
    api_.metrics_.OnClientLeft();
    api_.LogLeft(path_);
    reply_(ErrorResponse(499, "client_left", "the client closed its half of the connection while it waited"));
  }

  QueuedApi& api_;
  const std::string path_;
  const HttpReply reply_;
  std::optional<Duration> sent_ago_;
  std::atomic<bool> ended_{false};  // the wait is over
};

void QueuedApi::Take(const HttpRequest& request, HttpReply reply) {
  const auto asker = std::make_shared<Asker>(*this, request, std::move(reply));
  QueuedRequest read{.path = asker->path()};
  if (std::string why = asker->Read(request, &read); !why.empty()) return asker->Refuse(std::move(why));
  limiter_.Take(read, asker);
}

void QueuedApi::ShowPage(const HttpRequest& request, HttpReply reply) const {
  const Result<PagePlace> place = ReadPagePlace(request.query);
  if (!place.ok()) return reply(ErrorResponse(400, "invalid_request", place.status().message()));
  limiter_.DescribePage(place.value(), [this, reply = std::move(reply)](Page<EndpointState> page) {
    const QueuedCounts counts = limiter_.Counts();
    std::ranges::sort(page.states(), {}, &EndpointState::path);
    JsonWriter json(JsonWriter::Layout::kCompact);
    json.Open('{');
    json.Member("endpoints").Number(counts.endpoints);
    json.Member("dynamic").Number(counts.dynamic);
    json.Member("waiting").Number(counts.waiting);
    json.Member("served").Number(counts.served);
    json.Member("rejected").Number(counts.rejected);
    json.Member("waited").Number(counts.waited);
    json.Member("left").Number(counts.left);
    json.Member("shown").Open('[');
    for (const EndpointState& state : page.states()) Write(state, &json);
    json.Close(']');
    if (page.next()) json.Member("next").String(PagePlaceText(*page.next()));
    json.Close('}');
    reply(JsonResponse(200, std::move(json).Text()));
  });
}

void QueuedApi::LogLeft(std::string_view path) {
  if (const auto line = left_log_.Take(std::chrono::steady_clock::now()))
    spdlog::info("499: a client left the line at {}{}", Printable(path), line->Suffix());
}

}  // namespace weir
