#include <algorithm>
#include <cstddef>
#include <memory>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "relay/net/http.h"
#include "relay/net/http_error.h"

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

// Returns true if `value`, which may have parameters, is the media type.
bool IsOfType(std::string_view value, std::string_view media_type) {
  return SameWord(TrimBlanks(value.substr(0, value.find(';'))), media_type);
}

bool Accepts(const HttpRequest& request, std::string_view media_type) {
  for (const auto& [name, value] : request.headers) {
    if (name != "accept") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      const std::string_view range = rest.substr(0, comma);
      if (IsOfType(range, media_type)) return true;
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  return false;
}

// Returns the answer to OPTIONS that lets pages of any site read (CORS), and POST with a proof if `may_post` is true.
HttpResponse Preflight(bool may_post) {
  return {.status = 204,
          .content_type = "",
          .body = "",
          .headers = {{"Access-Control-Allow-Origin", "*"},
                      {"Access-Control-Allow-Methods", may_post ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       may_post ? "Accept, Authorization, Content-Type" : "Accept, Content-Type"},
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

std::vector<std::string_view> Segments(std::string_view path) {
  std::vector<std::string_view> segments;
  for (;;) {
    const size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == path.npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

// Returns the first segment of a path: "/v1" for "/v1/models".
std::string_view FirstSegment(std::string_view path) { return path.substr(0, path.find('/', 1)); }

// Returns true if `path`, as it was sent, matches `pattern`, whose empty segments after the first are parameters.
bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size() || !path[0].empty()) return false;
  for (size_t n = 1; n < path.size(); ++n) {
    const bool parameter = pattern[n].empty();
    const bool is_plain = path[n].find('%') == path[n].npos;
    if (parameter ? path[n].empty() : is_plain ? path[n] != pattern[n] : DecodePlainPath(path[n]) != pattern[n])
      return false;
  }
  return true;
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

std::string_view HttpRequest::Cookie(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header != "cookie") continue;
    for (std::string_view rest = value; !rest.empty();) {
      const size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view cookie = TrimBlanks(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (cookie.size() > name.size() && cookie.starts_with(name) && cookie[name.size()] == '=')
        return cookie.substr(name.size() + 1);
    }
  }
  return {};
}

void HttpRouter::Add(std::string method, std::string path, HttpHandler handler) {
  AddHandler(std::move(method), std::move(path), std::move(handler));
}

void HttpRouter::AddDeferred(std::string method, std::string path, HttpDeferredHandler handler) {
  AddHandler(std::move(method), std::move(path), std::move(handler));
}

void HttpRouter::AddForOtherPaths(std::function<bool(std::string_view path)> takes, HttpDeferredHandler handler) {
  takes_other_ = std::move(takes);
  for_others_ = std::move(handler);
}

bool HttpRouter::IsOwn(const Names& first_segments, std::string_view path) {
  return path != "/" && first_segments.contains(FirstSegment(path));
}

bool HttpRouter::IsOther(const std::optional<std::string>& plain_path) const {
  return takes_other_ && plain_path && plain_path->starts_with('/') && !IsOwn(*first_segments_, *plain_path) &&
         takes_other_(*plain_path);
}

std::function<bool(std::string_view path)> HttpRouter::OwnPaths() const {
  return [names = first_segments_](std::string_view path) { return IsOwn(*names, path); };
}

void HttpRouter::AddHandler(std::string method, std::string path, Handler handler) {
  first_segments_->emplace(FirstSegment(path));
  if (path.find('{') == path.npos) {
    routes_[std::move(path)].insert_or_assign(std::move(method), std::move(handler));
    return;
  }
  Pattern& pattern = patterns_[path];
  if (pattern.segments.empty()) {
    for (const std::string_view segment : Segments(path))
      pattern.segments.emplace_back(segment.starts_with('{') && segment.ends_with('}') ? std::string_view() : segment);
  }
  pattern.methods.insert_or_assign(std::move(method), std::move(handler));
}

void HttpRouter::AddForAccept(std::string media_type, HttpHandler handler) {
  by_accept_.emplace_back(std::move(media_type), std::move(handler));
}

void HttpRouter::AddStream(std::string method, std::string path, HttpStreamFactory factory) {
  first_segments_->emplace(FirstSegment(path));
  streams_[std::move(path)].insert_or_assign(std::move(method), std::move(factory));
}

void HttpRouter::AddStreamForContent(std::string media_type, HttpStreamFactory factory) {
  streams_by_content_.emplace_back(std::move(media_type), std::move(factory));
}

void HttpRouter::AddWording(std::string prefix, Wording wording) {
  wordings_.emplace_back(std::move(prefix), std::move(wording));
}

HttpResponse HttpRouter::Worded(const HttpRequest& request, HttpResponse plain) const {
  for (const auto& [prefix, wording] : wordings_)
    if (request.path.starts_with(prefix)) plain = wording(std::move(plain), request);
  return PlainErrorAsJson(std::move(plain));
}

const HttpStreamFactory* HttpRouter::StreamFor(std::string_view method, std::string_view raw_path,
                                               std::string_view content_type) const {
  const auto path = DecodePlainPath(raw_path);
  if (const auto streams = path ? streams_.find(*path) : streams_.end(); streams != streams_.end()) {
    const auto stream = streams->second.find(method == "HEAD" ? "GET" : method);
    if (stream != streams->second.end()) return &stream->second;
  }
  if (method != "POST") return nullptr;
  for (const auto& [media_type, factory] : streams_by_content_)
    if (IsOfType(content_type, media_type)) return &factory;
  return nullptr;
}

const HttpRouter::Handler* HttpRouter::Find(std::string_view method, HttpRequest& request) const {
  const auto plain = DecodePlainPath(request.raw_path);
  const bool others_may = (method == "GET" || method == "POST") && IsOther(plain);
  if (others_may && *plain == "/" && !Accepts(request, "text/html")) return &for_others_;
  if (const auto path = plain ? routes_.find(*plain) : routes_.end(); path != routes_.end())
    if (const auto route = path->second.find(method); route != path->second.end()) return &route->second;
  const std::vector<std::string_view> segments = Segments(request.raw_path);
  for (const auto& [path, pattern] : patterns_) {
    const auto route = pattern.methods.find(method);
    if (route == pattern.methods.end() || !Matches(pattern.segments, segments)) continue;
    for (size_t n = 1; n < segments.size(); ++n)
      if (pattern.segments[n].empty()) request.parameters.push_back(*DecodePercent(segments[n]));
    return &route->second;
  }
  return others_may ? &for_others_ : nullptr;
}

std::variant<HttpResponse, const HttpDeferredHandler*> HttpRouter::Route(HttpRequest& request) const {
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  if (method == "GET") {
    for (const auto& [media_type, handler] : by_accept_) {
      if (!Accepts(request, media_type)) continue;
      return ReadableByAnyPage(PlainErrorAsJson(handler(request)));
    }
  }
  if (const Handler* handler = Find(method, request)) {
    if (const auto* deferred = std::get_if<HttpDeferredHandler>(handler)) return deferred;
    return PlainErrorAsJson(std::get<HttpHandler>(*handler)(request));
  }
  if (method == "OPTIONS") return Preflight(!streams_by_content_.empty() && !IsOwn(*first_segments_, request.path));
  return Worded(request, Refusal(request));
}

std::optional<HttpResponse> HttpRouter::RefusalFromHead(std::string method, std::string_view raw_path) const {
  if (method == "GET" || method == "HEAD" || method == "OPTIONS") return std::nullopt;
  HttpRequest head;
  head.method = std::move(method);
  head.raw_path = raw_path;
  const auto path = DecodePercent(raw_path);
  if (!path) return std::nullopt;
  head.path = *path;
  if (Find(head.method, head) != nullptr) return std::nullopt;
  return Refusal(head);
}

// Returns advice for a path that begins like one whose last segment is a parameter, and goes on with a slash; empty for
// any other path, and for a path of a route that has a name behind the parameter.
std::string HttpRouter::AdviceOnSlash(std::string_view method, const std::vector<std::string_view>& segments) const {
  const bool is_other_route = std::ranges::any_of(patterns_, [&](const auto& known) {
    return !known.second.segments.back().empty() && Matches(known.second.segments, segments);
  });
  if (is_other_route) return "";
  for (const auto& [path, pattern] : patterns_) {
    const size_t size = pattern.segments.size();
    if (size >= segments.size() || !pattern.segments.back().empty() || !pattern.methods.contains(method)) continue;
    if (!Matches(pattern.segments, {segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(size)})) continue;
    const size_t name = path.rfind('{') + 1;
    return "; a / in the " + path.substr(name, path.size() - name - 1) + " is written %2F";
  }
  return "";
}

HttpResponse HttpRouter::Refusal(const HttpRequest& request) const {
  std::set<std::string> known;
  const auto add = [&known](const auto& methods) {
    for (const auto& [name, handler] : methods) known.insert(name);
  };
  const auto plain = DecodePlainPath(request.raw_path);
  if (const auto path = plain ? routes_.find(*plain) : routes_.end(); path != routes_.end()) add(path->second);
  const std::vector<std::string_view> segments = Segments(request.raw_path);
  for (const auto& [path, pattern] : patterns_)
    if (Matches(pattern.segments, segments)) add(pattern.methods);
  if (const auto streams = plain ? streams_.find(*plain) : streams_.end(); streams != streams_.end())
    add(streams->second);
  if (IsOther(plain)) known = {"GET", "POST"};
  const std::string advice = AdviceOnSlash(request.method == "HEAD" ? "GET" : request.method, segments) + "\n";
  if (known.empty()) return {.status = 404, .body = "nothing is at " + Printable(request.path) + advice};
  std::string allowed;
  for (const std::string& name : known) allowed += name + (name == "GET" ? ", HEAD, " : ", ");
  allowed += "OPTIONS";
  return {
      .status = 405, .body = Printable(request.path) + " takes " + allowed + advice, .headers = {{"Allow", allowed}}};
}

}  // namespace weir
