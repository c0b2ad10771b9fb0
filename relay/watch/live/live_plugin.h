// LivePlugin: serves the page for administrators at /live on a relay's port, and the feed of that page. FEED.md
// describes the feed; Admin (relay/admin/admin.h) decides which clients may use page and feed.
//
//   GET  /live           the page or, if the browser has not signed in, the form that asks for the token; with ?still
//                        the page does not reload itself in a browser without JavaScript
//   POST /live/session   receives the form; if the token is right, sets the cookies of a session (Admin::SessionFor)
//   GET  /live/session   204 if this client may use the page, else 401, 403 or 429 (Admin::RefusalOfPage)
//   POST /live/sign-out  if this browser has a session, ends those of all browsers; deletes this one's cookies
//   GET  /live/state, /live/events, POST /live/settings: see FEED.md
//   GET  /live/live.js and others: the files of the pages, for every client
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/admin/sign_in_limit.h"
#include "relay/net/http_stream.h"
#include "relay/net/log_limit.h"
#include "relay/relay_plugin.h"
#include "relay/watch/live/live_feed.h"
#include "relay/watch/live/live_page.h"
#include "relay/watch/live/live_settings.h"
#include "relay/watch/live/sampler.h"

namespace weir {

class LivePlugin final : public RelayPlugin {
 public:
  // The clocks must outlive this object.
  explicit LivePlugin(const Clock& clock = Clock::System(), const WallClock& wall_clock = WallClock::System());
  ~LivePlugin() override { Stop(); }

  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  using Begun = std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>;

  LiveFeed::Sample TakeSample();
  LiveState Describe(LiveRates& rates) const;
  using MakePage = HttpResponse (*)(const LivePageParts& parts, const LiveMoment& moment);
  void Page(MakePage make, const HttpRequest& request, const HttpReply& reply);
  void State(const HttpRequest& request, const HttpReply& reply);
  Begun Events(const HttpRequest& request, HttpExchange& exchange);
  HttpResponse SignIn(const HttpRequest& request);
  HttpResponse WrongToken(const HttpRequest& request, std::string_view path);
  HttpResponse Change(const HttpRequest& request);
  void NoteChange(const HttpRequest& request, std::string_view by, const std::vector<std::string>& changes);
  const std::string& name() const { return services_->configuration.relay.name; }

  const Clock& clock_;
  const WallClock& wall_clock_;
  std::optional<RelayServices> services_;
  std::optional<LiveSettings> settings_;
  Sampler sampler_;
  SignInLimit sign_ins_;
  LogLimit wrong_tokens_;
  std::unique_ptr<LiveFeed> feed_;    // set by Start
  std::atomic<bool> is_open_{false};  // true once Start has set the members that other threads use
};

}  // namespace weir
