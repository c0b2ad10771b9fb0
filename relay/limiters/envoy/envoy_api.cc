#include "relay/limiters/envoy/envoy_api.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "config/text/json_writer.h"
#include "relay/net/http_error.h"

namespace weir {
namespace {

using Code = DescriptorAnswer::Code;

constexpr EnvoyRoute kEnvoyRoutes[] = {{"POST", "/json"}, {"GET", "/debug/ratelimit", true}};

std::string SecondsAsJson(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

void Write(const DescriptorStatus& status, JsonWriter* json) {
  json->Open('{');
  json->Member("code").String(status.over ? "OVER_LIMIT" : "OK");
  if (status.limit) {
    json->Member("currentLimit").Open('{');
    if (status.limit->requests_per_unit > 0) json->Member("requestsPerUnit").Number(status.limit->requests_per_unit);
    json->Member("unit").String(NameOf(status.limit->unit));
    if (!status.limit_name.empty()) json->Member("name").String(status.limit_name);
    json->Close('}');
  }
  const uint32_t remaining = status.unlimited ? std::numeric_limits<uint32_t>::max() : status.remaining;
  if (remaining > 0) json->Member("limitRemaining").Number(remaining);
  if (status.limit) json->Member("durationUntilReset").String(SecondsAsJson(status.until_reset) + "s");
  json->Close('}');
}

void Write(const DescriptorRules::Limit& limit, JsonWriter* json) {
  const auto count = [](const std::atomic<uint64_t>& of) { return of.load(std::memory_order_relaxed); };
  json->Open('{');
  json->Member("domain").String(*limit.domain);
  json->Member("rule").String(limit.path);
  if (limit.unlimited) {
    json->Member("unlimited").Bool(true);
  } else {
    json->Member("requests_per_unit").Number(limit.limit.requests_per_unit);
    json->Member("unit").String(NameOf(limit.limit.unit));
  }
  if (!limit.name.empty()) json->Member("name").String(limit.name);
  if (!limit.replaces.empty()) {
    json->Member("replaces").Open('[');
    for (const std::string& name : limit.replaces) json->String(name);
    json->Close(']');
  }
  json->Member("shadow_mode").Bool(limit.shadow_mode);
  json->Member("quota_mode").Bool(limit.quota_mode);
  json->Member("hits").Number(count(limit.counts->hits));
  json->Member("over_limit").Number(count(limit.counts->over));
  json->Member("near_limit").Number(count(limit.counts->near));
  json->Close('}');
}

}  // namespace

std::span<const EnvoyRoute> EnvoyApi::Routes() { return kEnvoyRoutes; }

void EnvoyApi::Answer(const EnvoyRoute& route, const HttpRequest& request, HttpReply reply) {
  if (route.shows) return reply(Show());
  AskInJson(request.body, std::move(reply));
}

void EnvoyApi::AskInJson(std::string_view json, HttpReply reply) {
  EnvoyRequest asked;
  if (const Status status = ReadEnvoyRequest(json, &asked); !status.ok()) {
    OnUnreadable();
    return reply(ErrorResponse(400, NameOf(Code::kInvalid), status.message()));
  }
  Ask(asked, [this, reply = std::move(reply)](const DescriptorAnswer& answer) {
    if (answer.code == Code::kInvalid) return reply(ErrorResponse(400, NameOf(answer.code), answer.reason));
    HttpResponse response = JsonResponse(answer.code == Code::kOverLimit ? 429 : 200, Write(answer));
    Duration wait{};
    for (const DescriptorStatus& status : answer.statuses)
      if (status.over) wait = std::max(wait, status.until_reset);
    if (response.status != 200) response.headers.emplace_back("Retry-After", RetryAfterSeconds(wait));
    reply(std::move(response));
  });
}

HttpFields EnvoyApi::HeadersToAdd(const DescriptorAnswer& answer) const {
  if (!response_headers_) return {};
  const DescriptorStatus* told = nullptr;
  for (const DescriptorStatus& status : answer.statuses) {
    const bool refuses = status.over && !status.quota_mode;
    const bool has_less = status.limit && (told == nullptr || status.remaining < told->remaining);
    if (refuses || has_less) told = &status;
  }
  if (told == nullptr) return {};
  return {{"RateLimit-Limit", std::to_string(told->limit->requests_per_unit)},
          {"RateLimit-Remaining", std::to_string(told->remaining)},
          {"RateLimit-Reset", SecondsAsJson(told->until_reset)}};
}

std::string EnvoyApi::Write(const DescriptorAnswer& answer) const {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("overallCode").String(answer.code == Code::kOverLimit ? "OVER_LIMIT" : "OK");
  json.Member("statuses").Open('[');
  for (const DescriptorStatus& status : answer.statuses) weir::Write(status, &json);
  json.Close(']');
  if (response_headers_) {
    json.Member("responseHeadersToAdd").Open('[');
    for (const auto& [name, value] : HeadersToAdd(answer)) {
      json.Open('{');
      json.Member("key").String(name);
      json.Member("value").String(value);
      json.Close('}');
    }
    json.Close(']');
  }
  json.Close('}');
  return std::move(json).Text();
}

HttpResponse EnvoyApi::Show() const {
  const DescriptorCounts counts = limiter_.Counts();
  const auto rules = limiter_.rules();
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("domains").Number(rules->domains());
  json.Member("rules").Number(rules->limits().size());
  json.Member("names").Number(counts.names);
  json.Member("names_bytes").Number(counts.bytes);
  json.Member("shown").Open('[');
  for (size_t i = 0; i < std::min(kMostShown, rules->limits().size()); ++i) weir::Write(rules->limits()[i], &json);
  json.Close(']').Close('}');
  return JsonResponse(200, std::move(json).Text());
}

}  // namespace weir
