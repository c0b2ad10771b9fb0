#include "relay/observe/trace/otlp.h"

#include <simdjson.h>

#include <algorithm>

#include "config/text/hex.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "relay/process/version.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

constexpr int kStatusError = 2;
// Bits of OTLP's Span.flags. kSampled: W3C's flag "sampled". kKnowsWhere: the bit kIsRemote is valid. kIsRemote: the
// parent span is in another process.
constexpr int kSampled = 0x001;
constexpr int kKnowsWhere = 0x100;
constexpr int kIsRemote = 0x200;

template <typename Id>
std::string HexOf(const Id& id) {
  return ToHex(id.data(), id.size());
}

// OTLP writes 64-bit integers as strings.
void WriteValue(int64_t value, JsonWriter& json) { json.Member("intValue").String(std::to_string(value)); }
void WriteValue(const std::string& value, JsonWriter& json) { json.Member("stringValue").String(value); }

template <typename Value>
void WriteAttribute(std::string_view key, const Value& value, JsonWriter& json) {
  json.Open('{').Member("key").String(key);
  json.Member("value").Open('{');
  WriteValue(value, json);
  json.Close('}').Close('}');
}

void WriteSpan(const SpanData& span, WallTime at_zero, JsonWriter& json) {
  const auto nanoseconds = [at_zero](TimePoint at) {
    return std::to_string((at_zero + at.time_since_epoch()).time_since_epoch().count());
  };
  json.Open('{').Member("traceId").String(HexOf(span.trace));
  json.Member("spanId").String(HexOf(span.id));
  if (span.parent != SpanId{}) json.Member("parentSpanId").String(HexOf(span.parent));
  json.Member("flags").Number(kSampled | kKnowsWhere | (span.parent_is_remote ? kIsRemote : 0));
  json.Member("name").String(span.name);
  json.Member("kind").Number(static_cast<int>(span.kind));
  json.Member("startTimeUnixNano").String(nanoseconds(span.begin));
  json.Member("endTimeUnixNano").String(nanoseconds(std::max(span.begin, span.end)));
  json.Member("attributes").Open('[');
  for (const auto& attribute : span.attributes)
    std::visit([&](const auto& value) { WriteAttribute(attribute.first, value, json); }, attribute.second);
  json.Close(']').Member("status").Open('{');
  if (span.failed) json.Member("code").Number(kStatusError);
  json.Close('}').Close('}');
}

}  // namespace

std::string WriteOtlp(std::span<const SpanData> spans, const ResourceAttributes& resource, WallTime at_zero) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{')
      .Member("resourceSpans")
      .Open('[')
      .Open('{')
      .Member("resource")
      .Open('{')
      .Member("attributes")
      .Open('[');
  for (const auto& [key, value] : resource) {
    // By OpenTelemetry's conventions process.pid is a number; all other attributes here are texts.
    const auto number = ParseInteger(value, {.min = 0, .max = 1e15});
    if (key == "process.pid" && number.ok()) {
      WriteAttribute(key, number.value(), json);
    } else {
      WriteAttribute(key, value, json);
    }
  }
  json.Close(']').Close('}').Member("scopeSpans").Open('[').Open('{').Member("scope").Open('{');
  json.Member("name").String("weir");
  json.Member("version").String(Version());
  json.Close('}').Member("spans").Open('[');
  for (const SpanData& span : spans) WriteSpan(span, at_zero, json);
  json.Close(']').Close('}').Close(']').Close('}').Close(']').Close('}');
  return std::move(json).Text();
}

PartialSuccess ReadPartialSuccess(std::string_view body) {
  dom::parser parser;
  dom::element partial;
  if (parser.parse(body.data(), body.size()).at_key("partialSuccess").get(partial) != simdjson::SUCCESS) return {};
  PartialSuccess read;
  std::string_view text;
  if (partial["rejectedSpans"].get(read.rejected) != simdjson::SUCCESS &&
      partial["rejectedSpans"].get(text) == simdjson::SUCCESS) {
    const Result<uint64_t> number = ParseUnsigned(text, {.min = 0, .max = 1e15});
    if (number.ok()) read.rejected = number.value();
  }
  if (partial["errorMessage"].get(text) == simdjson::SUCCESS) read.message = text;
  return read;
}

}  // namespace weir
