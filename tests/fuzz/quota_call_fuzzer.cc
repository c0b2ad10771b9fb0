// The body of a quota call; the first byte chooses the call. An accepted body is a JSON object that says just what was
// read, judged by a tree of the same text.
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/limiters/quota/quota_call_reader.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;
using Call = QuotaRoute::Call;
using Body = QuotaCallBody;

constexpr std::array kCalls = {Call::kDecide, Call::kReserve, Call::kCommit,  Call::kRefund,
                               Call::kExtend, Call::kRecord,  Call::kExplain, Call::kSetQuota};

const std::pair<std::string_view, std::optional<std::string> Body::*> kTexts[] = {
    {"model", &Body::model},
    {"user", &Body::user},
    {"tenant", &Body::tenant},
    {"api_key", &Body::api_key},
    {"qos", &Body::qos},
    {"instance", &Body::instance},
    {"reservation", &Body::reservation},
    {"idempotency_key", &Body::idempotency_key}};
const std::pair<std::string_view, std::optional<int64_t> Body::*> kWholes[] = {{"tokens", &Body::tokens},
                                                                               {"prompt_tokens", &Body::prompt_tokens},
                                                                               {"output_tokens", &Body::output_tokens},
                                                                               {"ttl_seconds", &Body::ttl_seconds},
                                                                               {"max_rpm", &Body::max_rpm},
                                                                               {"max_tpm", &Body::max_tpm},
                                                                               {"max_rpd", &Body::max_rpd}};
const std::pair<std::string_view, std::optional<bool> Body::*> kFlags[] = {{"charge", &Body::charge},
                                                                           {"partial", &Body::partial}};

// Returns true if a member says just what was read.
template <typename Value, typename Keys>
bool Agrees(std::string_view name, const dom::element& value, const Body& body, const Keys& keys) {
  for (const auto& [known, member] : keys) {
    Value said{};
    if (known == name) return value.get(said) == simdjson::SUCCESS && body.*member && *(body.*member) == said;
  }
  return false;
}

template <typename Keys>
size_t Named(const Body& body, const Keys& keys) {
  size_t named = 0;
  for (const auto& [known, member] : keys) named += body.*member ? 1 : 0;
  return named;
}

void Check(std::string_view text) {
  const Call call = kCalls[TakeByte(&text) % kCalls.size()];
  Body body;
  if (const auto error = ReadQuotaCall(call, text, &body)) return Must(!error->message.empty() && !error->code.empty());
  Must(!CheckQuotaCall(call, body), "gRPC takes it too");
  dom::parser parser;
  dom::object object;
  Must(parser.parse(text.data(), text.size()).get(object) == simdjson::SUCCESS);
  size_t said = 0;
  for (const auto& [name, value] : object) {
    if (value.is_null()) continue;
    ++said;
    Must(Agrees<std::string_view>(name, value, body, kTexts) || Agrees<int64_t>(name, value, body, kWholes) ||
             Agrees<bool>(name, value, body, kFlags),
         std::string(name));
  }
  Must(said == Named(body, kTexts) + Named(body, kWholes) + Named(body, kFlags));
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
