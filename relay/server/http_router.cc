#include <set>

#include "config/parse.h"
#include "relay/server/http.h"

namespace weir {
namespace {

bool SameWord(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t n = 0; n < a.size(); ++n) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    if (lower(a[n]) != lower(b[n])) return false;
  }
  return true;
}

bool Accepts(const HttpRequest& request, std::string_view media_type) {
  for (const auto& [name, value] : request.headers) {
    if (name != "accept") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      const std::string_view range = rest.substr(0, comma);
      if (SameWord(TrimBlanks(range.substr(0, range.find(';'))), media_type)) return true;
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  return false;
}

// A page of any site may read what this answers, and only read.
HttpResponse Preflight() {
  return {.status = 204,
          .content_type = "",
          .body = "",
          .headers = {{"Access-Control-Allow-Origin", "*"},
                      {"Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Accept, Content-Type"},
                      {"Access-Control-Max-Age", "86400"}}};
}

HttpResponse ReadableByAnyPage(HttpResponse response) {
  const auto add = [&](std::string_view name, std::string_view value) {
    for (const auto& [known, unused] : response.headers)
      if (SameWord(known, name)) return;
    response.headers.emplace_back(name, value);
  };
  add("Access-Control-Allow-Origin", "*");
  add("Vary", "Accept");
  return response;
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

void HttpRouter::Add(std::string method, std::string path, HttpHandler handler) {
  routes_[std::move(path)].insert_or_assign(std::move(method), std::move(handler));
}

void HttpRouter::AddForAccept(std::string media_type, HttpHandler handler) {
  by_accept_.emplace_back(std::move(media_type), std::move(handler));
}

void HttpRouter::AddStream(std::string method, std::string path, HttpStreamFactory factory) {
  streams_[std::move(path)].insert_or_assign(std::move(method), std::move(factory));
}

const HttpStreamFactory* HttpRouter::StreamFor(std::string_view method, std::string_view path) const {
  const auto streams = streams_.find(path);
  if (streams == streams_.end()) return nullptr;
  const auto stream = streams->second.find(method == "HEAD" ? "GET" : method);
  return stream == streams->second.end() ? nullptr : &stream->second;
}

HttpResponse HttpRouter::Answer(const HttpRequest& request) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  if (method == "GET") {
    for (const auto& [media_type, handler] : by_accept_) {
      if (!Accepts(request, media_type)) continue;
      return ReadableByAnyPage(handler(request));
    }
  }
  const auto path = routes_.find(request.path);
  if (path != routes_.end()) {
    const auto route = path->second.find(method);
    if (route != path->second.end()) return route->second(request);
  }
  if (method == "OPTIONS") return Preflight();
  std::set<std::string> known;
  if (path != routes_.end())
    for (const auto& [name, handler] : path->second) known.insert(name);
  if (const auto streams = streams_.find(request.path); streams != streams_.end())
    for (const auto& [name, factory] : streams->second) known.insert(name);
  if (known.empty()) return {.status = 404, .body = "nothing is at " + Printable(request.path) + "\n"};
  std::string allowed;
  for (const std::string& name : known) allowed += name + (name == "GET" ? ", HEAD, " : ", ");
  allowed += "OPTIONS";
  return {.status = 405, .body = Printable(request.path) + " takes " + allowed + "\n", .headers = {{"Allow", allowed}}};
}

}  // namespace weir
