// Collector: an OpenTelemetry collector on a free port of the loopback address. It accepts all requests and keeps their
// spans.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/net/server.h"
#include "tests/fixtures/eventually.h"

namespace weir {

// A span as read from the JSON of a request.
struct CollectedSpan {
  std::string trace, id, parent, name, service;
  int64_t kind = 0;
  int64_t status = 0;
  uint64_t begin_ns = 0, end_ns = 0;
  std::map<std::string, std::string> attributes;
};

class Collector {
 public:
  Collector() {
    HttpRouter router;
    router.Add("POST", "/v1/traces", [this](const HttpRequest& request) {
      Add(request.body);
      return HttpResponse{.content_type = "application/json", .body = "{}"};
    });
    ServerSettings settings;
    settings.port = 0;
    settings.io_threads = 1;
    settings.max_http_body_bytes = 32 << 20;
    server_ = std::make_unique<Server>(settings, std::move(router), nullptr);
    const Status listens = server_->Listen();
    EXPECT_TRUE(listens.ok()) << listens.message();
    server_->Accept();
  }
  ~Collector() { server_->Shutdown(std::chrono::seconds(10)); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::vector<CollectedSpan> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  // Waits for a span with this name, and returns the first; nullopt if none comes.
  std::optional<CollectedSpan> Await(const std::string& name) const {
    std::optional<CollectedSpan> found;
    EXPECT_TRUE(Eventually([&] {
      const std::vector<CollectedSpan> all = spans();
      const auto span = std::ranges::find(all, name, &CollectedSpan::name);
      if (span != all.end()) found = *span;
      return found.has_value();
    })) << name;
    return found;
  }
  // Returns the children of a span. Children end before their parent, so all of them have come when the parent has.
  std::vector<CollectedSpan> ChildrenOf(const CollectedSpan& parent) const {
    std::vector<CollectedSpan> children = spans();
    std::erase_if(children, [&](const CollectedSpan& s) { return s.parent != parent.id || s.trace != parent.trace; });
    std::ranges::sort(children, {}, &CollectedSpan::begin_ns);
    return children;
  }

 private:
  using Element = simdjson::dom::element;

  // Returns an empty text if there is none.
  static std::string TextIn(Element of, const char* key) {
    std::string_view text;
    return of[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
  }
  static std::map<std::string, std::string> AttributesOf(Element of) {
    std::map<std::string, std::string> attributes;
    for (const Element one : of["attributes"].get_array()) {
      const std::string text = TextIn(one["value"], "stringValue");
      attributes[TextIn(one, "key")] = text.empty() ? TextIn(one["value"], "intValue") : text;
    }
    return attributes;
  }
  static CollectedSpan SpanOf(Element s) {
    const auto text = [&s](const char* key) { return TextIn(s, key); };
    CollectedSpan span{.trace = text("traceId"),
                       .id = text("spanId"),
                       .parent = text("parentSpanId"),
                       .name = text("name"),
                       .kind = s["kind"],
                       .begin_ns = std::stoull(text("startTimeUnixNano")),
                       .end_ns = std::stoull(text("endTimeUnixNano")),
                       .attributes = AttributesOf(s)};
    if (s["status"]["code"].get(span.status) != simdjson::SUCCESS) span.status = 0;
    return span;
  }
  void Add(const std::string& body) {
    simdjson::dom::parser parser;
    const Element message = parser.parse(body);
    const std::lock_guard lock(mutex_);
    for (const Element resource : message["resourceSpans"].get_array()) {
      const std::string service = AttributesOf(resource["resource"])["service.name"];
      for (const Element scope : resource["scopeSpans"].get_array()) {
        for (const Element span : scope["spans"].get_array()) {
          spans_.push_back(SpanOf(span));
          spans_.back().service = service;
        }
      }
    }
  }

  mutable std::mutex mutex_;
  std::vector<CollectedSpan> spans_;
  std::unique_ptr<Server> server_;  // destroyed first
};

inline std::vector<std::string> NamesOf(const std::vector<CollectedSpan>& spans) {
  std::vector<std::string> names;
  for (const CollectedSpan& span : spans) names.push_back(span.name);
  return names;
}

}  // namespace weir
