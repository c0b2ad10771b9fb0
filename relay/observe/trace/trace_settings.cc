#include "relay/observe/trace/trace_settings.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/text/utf8.h"
#include "relay/process/version.h"

namespace weir {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kServiceName = "service.name";

// Reads key=value,key=value with percent-encoded values: W3C's baggage, the form of OpenTelemetry's variables.
std::optional<Pairs> ReadPairs(std::string_view text) {
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view entry = TrimBlanks(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), text.find(',')));
    if (!text.empty()) text.remove_prefix(1);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == entry.npos) return std::nullopt;
    const std::string_view key = TrimBlanks(entry.substr(0, equals));
    const std::optional<std::string> value = DecodePercent(TrimBlanks(entry.substr(equals + 1)));
    if (key.empty() || !value || !IsUtf8(key) || !IsUtf8(*value)) return std::nullopt;
    pairs.emplace_back(key, *value);
  }
  return pairs;
}

bool IsHeader(const std::pair<std::string, std::string>& pair) {
  const auto is_of_name = [](char c) {
    return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return std::ranges::all_of(pair.first, is_of_name) && std::ranges::all_of(pair.second, is_plain);
}

Pairs ResourceOf(const TraceSettings& settings, const Pairs& named) {
  Pairs resource;
  const auto own = std::ranges::find(named, kServiceName, &Pairs::value_type::first);
  const std::string unnamed = own == named.end() ? "weir" : own->second;
  resource.emplace_back(kServiceName, settings.service_name.empty() ? unnamed : settings.service_name);
  resource.emplace_back("service.version", Version());
  resource.emplace_back("process.pid", std::to_string(getpid()));
  for (const auto& pair : named)
    if (std::ranges::find(resource, pair.first, &Pairs::value_type::first) == resource.end()) resource.push_back(pair);
  return resource;
}

}  // namespace

void Declare(SettingTable& table, TraceSettings& s) {
  table.Add("TRACE_ENDPOINT", &s.endpoint,
            "OpenTelemetry collector that takes OTLP over HTTP as JSON, http://127.0.0.1:4318; empty: no traces "
            "(or OTEL_EXPORTER_OTLP_ENDPOINT)");
  table.Add("TRACE_RATIO", &s.ratio, {.min = 0, .max = 1, .unit = "fraction"},
            "share of events, requests, import batches and quota decisions that is traced (or "
            "OTEL_TRACES_SAMPLER_ARG)");
  table.Add("TRACE_SERVICE_NAME", &s.service_name,
            "service.name of the traces; empty: that of TRACE_ATTRIBUTES, or weir (or OTEL_SERVICE_NAME)");
  table.Add("TRACE_ATTRIBUTES", &s.attributes,
            "further attributes of this process, as key=value,key=value, values percent-encoded (or "
            "OTEL_RESOURCE_ATTRIBUTES)");
  table.AddSecret("TRACE_HEADERS", &s.headers,
                  "header fields for the collector, as key=value,key=value, values percent-encoded (or "
                  "OTEL_EXPORTER_OTLP_HEADERS)");
  table.Add("TRACE_CA_FILE", &s.ca_file,
            "file of CA certificates (PEM) that verify the collector's certificate; empty: the system's (or "
            "OTEL_EXPORTER_OTLP_CERTIFICATE)");
  table.AlsoFrom("TRACE_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT");
  table.AlsoFrom("TRACE_RATIO", "OTEL_TRACES_SAMPLER_ARG");
  table.AlsoFrom("TRACE_SERVICE_NAME", "OTEL_SERVICE_NAME");
  table.AlsoFrom("TRACE_ATTRIBUTES", "OTEL_RESOURCE_ATTRIBUTES");
  table.AlsoFrom("TRACE_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
  table.AlsoFrom("TRACE_CA_FILE", "OTEL_EXPORTER_OTLP_CERTIFICATE");
}

Status Check(const TraceSettings& settings) {
  return settings.endpoint.empty() ? Status() : ReadTraceTarget(settings).status();
}

Result<TraceTarget> ReadTraceTarget(const TraceSettings& settings) {
  const auto bad = [](std::string_view name, std::string_view value, std::string_view what) {
    return Status::Error("WEIR_TRACE_" + std::string(name) + std::string(value) + ": " + std::string(what));
  };
  const Result<ServerUrl> url = ParseServerUrl(settings.endpoint);
  if (!url.ok())
    return bad("ENDPOINT=", Printable(settings.endpoint) + " (or OTEL_EXPORTER_OTLP_ENDPOINT)", url.status().message());
  const std::optional<Pairs> attributes = ReadPairs(settings.attributes);
  if (!attributes)
    return bad("ATTRIBUTES=", Printable(settings.attributes), "not key=value,key=value with percent-encoded values");
  const std::optional<Pairs> headers = ReadPairs(settings.headers);
  if (!headers || !std::ranges::all_of(*headers, IsHeader))
    return bad("HEADERS", "", "not key=value,key=value with names and values that a header may have");
  return TraceTarget{.url = url.value(),
                     .headers = *headers,
                     .resource = ResourceOf(settings, *attributes),
                     .ca_file = settings.ca_file};
}

}  // namespace weir
