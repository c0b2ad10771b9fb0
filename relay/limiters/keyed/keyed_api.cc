#include "relay/limiters/keyed/keyed_api.h"

#include <endian.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "config/text/hex.h"
#include "config/text/in_words.h"
#include "config/text/json_string.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/url.h"
#include "config/text/utf8.h"
#include "relay/limiters/keyed/grant_id.h"
#include "relay/limiters/page_places.h"
#include "relay/limiters/rate_limit_fields.h"
#include "relay/net/client_address.h"
#include "relay/net/http_error.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr KeyedRoute kKeyedRoutes[] = {
    {KeyedRoute::Call::kTake, "GET", "/rate/{key}"},
    {KeyedRoute::Call::kTake, "POST", "/rate/{key}"},
    {KeyedRoute::Call::kGiveBack, "DELETE", "/rate/{key}/{id}"},
    {KeyedRoute::Call::kKeys, "GET", "/debug", true},
    {KeyedRoute::Call::kKey, "GET", "/debug/{key}", true},
};

constexpr std::string_view kClientLeft = "client_left";
constexpr size_t kMostCorrelationBytes = 128;

std::string ToId(uint64_t number) {
  const uint64_t high_first = htobe64(number);
  return ToHex(reinterpret_cast<const uint8_t*>(&high_first), sizeof high_first);
}

std::string CorrelationOf(const HttpRequest& request) {
  const std::string_view sent = request.Header("x-correlation-id");
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!sent.empty() && sent.size() <= kMostCorrelationBytes && std::ranges::all_of(sent, is_visible))
    return std::string(sent);
  thread_local std::mt19937_64 random(uint64_t{std::random_device()()} << 32 | std::random_device()());
  return ToId(random());
}

HttpResponse Correlated(HttpResponse response, std::string correlation) {
  response.headers.emplace_back("X-Correlation-ID", std::move(correlation));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

constexpr std::array<std::string_view, 3> kParameters = {"canWait", "maxRequests", "maxRequestsInQueue"};

struct Parameters {
  std::optional<bool> can_wait;
  std::optional<uint32_t> max_requests;
  std::optional<uint32_t> max_waiting;
};

std::string NotKnown(std::string_view name) {
  const std::string_view nearest = NearestName(name, {kParameters.begin(), kParameters.end()});
  return "found the parameter " + Printable(name) + ", expected one of canWait, maxRequests, maxRequestsInQueue" +
         (nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?");
}

// Returns what is wrong with the value, or an empty text.
std::string ReadCount(std::string_view name, std::string_view value, uint32_t least, uint32_t most,
                      std::optional<uint32_t>* count) {
  if (*count) return std::string(name) + " is there twice";
  const auto number = ParseUnsigned(value, {.min = static_cast<double>(least), .max = static_cast<double>(most)});
  if (!number.ok()) return std::string(name) + ": " + Printable(value) + " is " + number.status().message();
  *count = static_cast<uint32_t>(number.value());
  return "";
}

// Reads a value by the rules of Go's ParseBool, as GoCC does. Returns nullopt if it is not a boolean.
std::optional<bool> ReadBool(std::string_view value) {
  constexpr std::string_view kYes[] = {"true", "True", "TRUE", "t", "T", "1"};
  constexpr std::string_view kNo[] = {"false", "False", "FALSE", "f", "F", "0"};
  if (std::ranges::find(kYes, value) != std::end(kYes)) return true;
  if (std::ranges::find(kNo, value) != std::end(kNo)) return false;
  return std::nullopt;
}

// Returns true if the body is empty, or an empty object, which HTTP libraries send if the caller gave no body.
bool SaysNothing(std::string_view body) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  std::string rest;
  std::ranges::remove_copy_if(body.substr(0, 64), std::back_inserter(rest), is_blank);
  return body.size() <= 64 && (rest.empty() || rest == "{}");
}

std::string ReadParameter(std::string_view name, std::string_view value, Parameters* parameters) {
  // The least value is 1: with 0, a request could block its key for all clients.
  if (name == "maxRequests") return ReadCount(name, value, 1, kMostKeyedRequests, &parameters->max_requests);
  if (name == "maxRequestsInQueue") return ReadCount(name, value, 0, kMostKeyedWaiting, &parameters->max_waiting);
  if (parameters->can_wait) return "canWait is there twice";
  parameters->can_wait = ReadBool(value);
  return parameters->can_wait ? "" : "canWait: " + Printable(value) + " is neither true nor false";
}

std::string ReadParameters(std::string_view query, Parameters* parameters) {
  while (const auto parameter = TakeParameter(&query)) {
    const std::string_view name = parameter->name;
    if (std::ranges::find(kParameters, name) == kParameters.end()) return NotKnown(name);
    const std::string_view value = parameter->value.value_or(name == "canWait" ? "true" : "");
    if (value.empty()) return std::string(name) + " has no value";
    std::string why = ReadParameter(name, value, parameters);
    if (!why.empty()) return why;
  }
  return "";
}

int StatusOf(KeyedCode code) {
  switch (code) {
    case KeyedCode::kGranted:
      return 200;
    case KeyedCode::kNoRoom:
    case KeyedCode::kLineFull:
      return 429;
    case KeyedCode::kInvalidKey:
      return 400;
    case KeyedCode::kOverridesOff:
      return 403;
    default:
      return 503;
  }
}

std::string UsedInWords(std::string_view key, const KeyedAnswer& answer) {
  return Printable(key) + ": " + std::to_string(answer.used) + " of " + std::to_string(answer.limits.max_requests) +
         " requests in " + InWords(answer.limits.window);
}

std::string Reason(std::string_view key, const KeyedAnswer& answer) {
  switch (answer.code) {
    case KeyedCode::kNoRoom:
      return UsedInWords(key, answer) + (answer.limits.max_requests == 0
                                             ? std::string()
                                             : "; try again in " + InWords(answer.until_room) + ", or with canWait");
    case KeyedCode::kLineFull:
      return UsedInWords(key, answer) + ", and " + std::to_string(answer.waiting) + " of " +
             std::to_string(answer.limits.max_waiting) + " wait";
    case KeyedCode::kInvalidKey:
      return "a key is UTF-8 of 1 to " + std::to_string(kMostKeyBytes) + " bytes";
    case KeyedCode::kOverridesOff:
      return "maxRequests and maxRequestsInQueue are not taken from requests here (WEIR_KEYED_OVERRIDES)";
    case KeyedCode::kTooManyKeys:
      return "there is no room for another key, or for another of this client's (WEIR_KEYED_MAX_KEYS); unused keys are "
             "forgotten after three windows";
    case KeyedCode::kTooManyWaiting:
      return "no more requests can wait, for any key (WEIR_KEYED_MAX_WAITING)";
    case KeyedCode::kStoreAway:
      return "the store that counts this key for all servers does not answer (WEIR_KEYED_STORE)";
    case KeyedCode::kClosed:
      return "the server is shutting down";
    case KeyedCode::kGranted:
      break;
  }
  return "";
}

void AddFields(const KeyedAnswer& answer, HttpFields* fields) {
  const LimitState state{.policy = "requests",
                         .amount = answer.limits.max_requests,
                         .window = answer.limits.window,
                         .remaining = int64_t{answer.limits.max_requests} - answer.used,
                         .reset = answer.until_room};
  AddRateLimitFields({&state, 1}, fields);
}

// Builds the JSON without JsonWriter: most requests get this answer, and JsonWriter took a tenth of their cost.
HttpResponse Granted(std::string_view key, const KeyedAnswer& answer) {
  std::string json;
  json.reserve(key.size() + 240);
  const auto add = [&json](std::string_view name, int64_t number) { json.append(name).append(std::to_string(number)); };
  const std::string id = GrantId(answer.grant);
  // request_id is GoCC's name for the id.
  json.append(R"({"id":")").append(id).append(R"(","request_id":")").append(id).append(R"(","key":)");
  AppendJsonString(key, &json);
  add(R"(,"max_requests":)", answer.limits.max_requests);
  add(R"(,"used":)", answer.used);
  add(R"(,"remaining":)", answer.limits.max_requests - std::min(answer.used, answer.limits.max_requests));
  add(R"(,"window_millis":)", answer.limits.window.count());
  add(R"(,"waiting":)", answer.waiting);
  add(R"(,"waited_millis":)", std::chrono::ceil<milliseconds>(answer.waited).count());
  return JsonResponse(200, json += "}\n");
}

HttpResponse ResponseTo(std::string_view key, const KeyedAnswer& answer) {
  const int status = StatusOf(answer.code);
  HttpResponse response = answer.code == KeyedCode::kGranted
                              ? Granted(key, answer)
                              : ErrorResponse(status, NameOf(answer.code), Reason(key, answer));
  if (status == 200 || status == 429) AddFields(answer, &response.headers);
  // A key with max_requests 0 never grants a request, so no wait helps.
  if (status == 503 || (status == 429 && answer.limits.max_requests > 0))
    response.headers.emplace_back("Retry-After", RetryAfterSeconds(answer.until_room));
  return response;
}

void Write(const KeyState& state, JsonWriter* json) {
  json->Open('{');
  json->Member("key").String(state.key);
  json->Member("window").String(state.limits.kind == WindowKind::kFixed ? "fixed" : "sliding");
  json->Member("window_millis").Number(state.limits.window.count());
  json->Member("max_requests").Number(state.limits.max_requests);
  json->Member("max_requests_in_queue").Number(state.limits.max_waiting);
  json->Member("used").Number(state.used);
  json->Member("waiting").Number(state.waiting);
  json->Member("refused").Number(state.refused);
  json->Member("room_in_millis").Number(std::chrono::ceil<milliseconds>(state.until_room).count());
  if (state.lease) {
    json->Member("lease").Open('{');
    json->Member("left").Number(state.lease->left);
    json->Member("batch").Number(state.lease->batch);
    json->Member("on_its_way").Bool(state.lease->on_its_way);
    json->Member("alone").Bool(state.lease->alone);
    json->Close('}');
  }
  json->Close('}');
}

}  // namespace

// A request of a key, which may have to wait. It ends with its answer, or when its client leaves, whichever comes
// first. A grant that comes after the client has left is given back.
class KeyedApi::Asker final : public KeyedCaller, public std::enable_shared_from_this<KeyedApi::Asker> {
 public:
  Asker(KeyedApi& api, const HttpRequest& request, HttpReply reply)
      : api_(api), key_(request.parameters[0]), correlation_(CorrelationOf(request)), reply_(std::move(reply)) {}

  const std::string& key() const { return key_; }

  void OnWaiting(KeyedTicket ticket) override {
    reply_.OnLeft([self = shared_from_this(), ticket](HttpLeft why) { self->OnLeft(ticket, why); });
  }
  void OnAnswer(const KeyedAnswer& answer) override {
    if (!ended_.exchange(true)) return Give(answer);
    if (answer.code == KeyedCode::kGranted) api_.limiter_.GiveBack(key_, answer.grant, [](bool) {});
  }
  void Refuse(std::string why) {
    api_.metrics_.OnInvalidRequest();
    reply_(weir::Correlated(ErrorResponse(400, "invalid_request", std::move(why)), correlation_));
  }

 private:
  void OnLeft(KeyedTicket ticket, HttpLeft why) {
    if (ended_.exchange(true)) return;
    api_.limiter_.Leave(key_, ticket);
    if (why == HttpLeft::kServer) return Give({.code = KeyedCode::kClosed});
    api_.metrics_.OnClientLeft();
    api_.LogLeft(key_, correlation_);
    reply_(weir::Correlated(
        ErrorResponse(499, kClientLeft, "the client closed its half of the connection while it waited"), correlation_));
  }
  void Give(const KeyedAnswer& answer) {
    api_.metrics_.OnAnswer(answer);
    reply_(weir::Correlated(ResponseTo(key_, answer), correlation_));
  }

  KeyedApi& api_;
  const std::string key_;
  const std::string correlation_;
  const HttpReply reply_;
  std::atomic<bool> ended_{false};
};

std::span<const KeyedRoute> KeyedApi::Routes() { return kKeyedRoutes; }

HttpResponse KeyedApi::Correlated(const HttpRequest& request, HttpResponse response) {
  return weir::Correlated(std::move(response), CorrelationOf(request));
}

void KeyedApi::Answer(KeyedRoute::Call call, const HttpRequest& request, HttpReply reply) {
  switch (call) {
    case KeyedRoute::Call::kTake:
      return Take(request, std::move(reply));
    case KeyedRoute::Call::kGiveBack:
      return GiveBack(request, std::move(reply));
    case KeyedRoute::Call::kKeys:
      return ShowPage(request, std::move(reply));
    case KeyedRoute::Call::kKey:
      return Show(request, std::move(reply));
  }
}

void KeyedApi::Take(const HttpRequest& request, HttpReply reply) {
  // A HEAD would charge the key, but its answer has no body and so no id of the grant.
  if (request.method == "HEAD") {
    HttpResponse refusal = ErrorResponse(405, "method_not_allowed", "a request of a key is a GET or a POST");
    refusal.headers.emplace_back("Allow", "GET, POST");
    return reply(Correlated(request, std::move(refusal)));
  }
  const auto asker = std::make_shared<Asker>(*this, request, std::move(reply));
  Parameters parameters;
  if (std::string why = ReadParameters(request.query, &parameters); !why.empty()) return asker->Refuse(std::move(why));
  if (!SaysNothing(request.body)) return asker->Refuse("found a body, expected none: the parameters are in the query");
  if (!IsUtf8(asker->key())) return asker->OnAnswer({.code = KeyedCode::kInvalidKey});
  limiter_.Take({.key = asker->key(),
                 .may_wait = parameters.can_wait.value_or(false),
                 .client = GroupOf(request.address),
                 .max_requests = parameters.max_requests,
                 .max_waiting = parameters.max_waiting},
                asker);
}

void KeyedApi::GiveBack(const HttpRequest& request, HttpReply reply) {
  const auto done = [this, key = request.parameters[0], id = request.parameters[1], reply = std::move(reply),
                     correlation = CorrelationOf(request)](bool given_back) {
    metrics_.OnGivenBack(given_back);
    if (!given_back) {
      return reply(weir::Correlated(ErrorResponse(404, "unknown_grant",
                                                  Printable(id) + " is not a current grant of " + Printable(key) +
                                                      ": it was given back before, or its window is over"),
                                    correlation));
    }
    JsonWriter json(JsonWriter::Layout::kCompact);
    json.Open('{');
    json.Member("id").String(id);
    json.Member("request_id").String(id);
    json.Member("key").String(key);
    json.Member("given_back").Bool(true);
    json.Close('}');
    reply(weir::Correlated(JsonResponse(200, std::move(json).Text()), correlation));
  };
  const auto number = GrantOf(request.parameters[1]);
  if (!number) return done(false);
  limiter_.GiveBack(request.parameters[0], *number, done);
}

void KeyedApi::ShowPage(const HttpRequest& request, HttpReply reply) const {
  const Result<PagePlace> place = ReadPagePlace(request.query);
  if (!place.ok()) return reply(ErrorResponse(400, "invalid_request", place.status().message()));
  limiter_.DescribePage(place.value(), [this, reply = std::move(reply)](Page<KeyState> page) {
    const KeyedCounts counts = limiter_.Counts();
    std::ranges::sort(page.states(), {}, &KeyState::key);
    JsonWriter json(JsonWriter::Layout::kCompact);
    json.Open('{');
    json.Member("keys").Number(counts.keys);
    json.Member("waiting").Number(counts.waiting);
    json.Member("granted").Number(counts.granted);
    json.Member("refused").Number(counts.refused);
    json.Member("waited").Number(counts.waited);
    json.Member("left").Number(counts.left);
    json.Member("given_back").Number(counts.given_back);
    if (const std::optional<SharedWindowsHealth> health = limiter_.SharedHealth()) {
      json.Member("store").Open('{');
      json.Member("answers").Bool(health->answers);
      json.Member("leases").Number(counts.leases);
      json.Member("unanswered").Number(counts.leases_unanswered);
      json.Member("leased").Number(counts.leased);
      json.Member("unspent").Number(counts.unspent);
      json.Close('}');
    }
    json.Member("shown").Open('[');
    for (const KeyState& state : page.states()) Write(state, &json);
    json.Close(']');
    if (page.next()) json.Member("next").String(PagePlaceText(*page.next()));
    json.Close('}');
    reply(JsonResponse(200, std::move(json).Text()));
  });
}

void KeyedApi::Show(const HttpRequest& request, HttpReply reply) const {
  limiter_.Describe(request.parameters[0], [key = request.parameters[0],
                                            reply = std::move(reply)](const std::optional<KeyState>& state) {
    if (!state)
      return reply(ErrorResponse(404, "unknown_key", Printable(key) + " is not held: no request has named it lately"));
    JsonWriter json(JsonWriter::Layout::kCompact);
    Write(*state, &json);
    reply(JsonResponse(200, std::move(json).Text()));
  });
}

void KeyedApi::LogLeft(std::string_view key, std::string_view correlation) {
  if (const auto line = left_log_.Take(std::chrono::steady_clock::now())) {
    spdlog::info("499: a client left the line of {}, X-Correlation-ID {}{}", Printable(key), correlation,
                 line->Suffix());
  }
}

}  // namespace weir
