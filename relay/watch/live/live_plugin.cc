#include "relay/watch/live/live_plugin.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "config/text/in_words.h"
#include "config/text/parse.h"
#include "config/text/url.h"
#include "relay/admin/admin.h"
#include "relay/admin/other_site.h"
#include "relay/net/client_address.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/process/logging.h"
#include "relay/process/version.h"
#include "relay/watch/live/live_stream.h"
#include "relay/watch/live/relay_tables.h"
#include "relay/watch/live/words.h"

namespace weir {
namespace {

// The share of each client's counted work that is kept each second. With it, the tables show about the last ten
// seconds.
const double kKeptEachSecond = std::exp(-0.1);

constexpr size_t kMostFormBytes = 4096;

bool WantsPage(const HttpRequest& request) {
  return request.Header("accept").find("text/html") != std::string_view::npos;
}

HttpResponse TooMany(const std::string& what) {
  return {.status = 503, .body = what + "; try again soon\n", .headers = {{"Retry-After", "2"}}};
}

HttpResponse ToThePage(HttpFields headers = {}, std::string_view path = kLivePath) {
  headers.emplace_back("Location", path);
  return {.status = 303, .body = "see " + std::string(path) + "\n", .headers = std::move(headers)};
}

std::pair<std::string, std::string> Cookie(const HttpRequest& request, std::string_view name, std::string_view value,
                                           const std::string& more, int64_t seconds) {
  std::string cookie(name);
  cookie.append("=").append(value).append("; SameSite=Strict; Max-Age=").append(std::to_string(seconds)).append(more);
  return {"Set-Cookie", cookie + (CameByTls(request) ? "; Secure" : "")};
}

// A browser sends the session cookie to /live and to the calls of the page for moderation only, and the operator
// cookie, which only says that a session exists, to all pages.
HttpFields Cookies(const HttpRequest& request, std::string_view session, std::chrono::seconds lasts) {
  return {Cookie(request, SessionCookie(request), session, "; Path=/live; HttpOnly", lasts.count()),
          Cookie(request, SessionCookie(request), session, "; Path=/api/moderation; HttpOnly", lasts.count()),
          Cookie(request, OperatorCookie(request), lasts.count() > 0 ? "1" : "", "; Path=/", lasts.count())};
}

Result<std::vector<LiveSettings::Change>> ReadForm(const HttpRequest& request) {
  if (request.body.size() > kMostFormBytes) return Status::Error("the form has more than 4096 bytes");
  return ParseQuery(TrimBlanks(request.body));
}

// For each field, the form of the page also has a hidden field "was:NAME": the value of the setting when the page was
// made. A field that still has this value is no change, even if another operator has changed the setting since.
std::vector<LiveSettings::Change> ChangesIn(std::vector<LiveSettings::Change> form) {
  static constexpr std::string_view kWas = "was:";
  const auto was_so = [before = std::set(form.begin(), form.end())](const LiveSettings::Change& field) {
    return field.first.starts_with(kWas) || before.contains({std::string(kWas) + field.first, field.second});
  };
  std::erase_if(form, was_so);
  return form;
}

std::string Sentence(std::string begin, const std::string& rest) { return std::move(begin) + rest + "."; }

// If the throttle limits several classes, the summary names the most important one.
void Summarize(const LimiterView& view, SensorLoss on_loss, const Sampler::Felt& felt, LiveState* state) {
  const bool write = !view[WorkClass::kInteractive].open && felt.write;
  const bool bulk = !view[WorkClass::kBulk].open && felt.bulk;
  const bool read = view.scans_at_once > 0 && felt.read;
  state->mood = LiveMood::kLimiting;
  if (view.emergency) {
    state->mood = LiveMood::kEmergency;
    state->summary = Sentence("Emergency. Bulk work is held back; reads: ", state->read);
  } else if (view.sensor_lost && view.sample.time) {  // a sensor is not lost before its first sample
    state->mood = LiveMood::kSensorLost;
    state->summary = on_loss == SensorLoss::kHold
                         ? "The engine cannot be measured; writes are limited to what it drained before, less a tenth."
                         : "The engine cannot be measured; the gates are open (WEIR_RATE_LIMIT_SENSOR_LOSS=open).";
  } else if (write) {
    state->summary = Sentence("Writes are ", state->write);
  } else if (bulk) {
    state->summary = Sentence("Bulk work is ", state->bulk);
  } else if (read) {
    state->summary = Sentence("Reads: ", state->read);
  } else {
    state->mood = LiveMood::kCalm;
    state->summary = "No work has to wait.";
  }
}

uint64_t Milliseconds(WallTime time) {
  return static_cast<uint64_t>(std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count());
}

}  // namespace

LivePlugin::LivePlugin(const Clock& clock, const WallClock& wall_clock)
    : clock_(clock), wall_clock_(wall_clock), sampler_(clock, wall_clock), sign_ins_(clock) {}

void LivePlugin::AddRoutes(HttpRouter& router) {
  for (const auto& [path, make] : {std::pair(kLivePath, &LivePage), std::pair(kModerationPath, &ModerationPage)})
    router.AddDeferred("GET", std::string(path), [this, make = make](const HttpRequest& request, HttpReply reply) {
      Page(make, request, reply);
    });
  router.AddDeferred("GET", "/live/state",
                     [this](const HttpRequest& request, HttpReply reply) { State(request, reply); });
  router.AddStream("GET", "/live/events",
                   [this](const HttpRequest& head, HttpExchange& exchange) { return Events(head, exchange); });
  router.Add("POST", "/live/settings", [this](const HttpRequest& request) { return Change(request); });
  router.Add("POST", "/live/session", [this](const HttpRequest& request) { return SignIn(request); });
  router.Add("GET", "/live/session", [this](const HttpRequest& request) {
    const auto refusal = services_->admin.RefusalOfPage(request, AdminRight::kRead);
    return refusal ? *refusal
                   : HttpResponse{.status = 204, .content_type = "", .headers = {{"Cache-Control", "no-store"}}};
  });
  router.Add("POST", "/live/sign-out", [this](const HttpRequest& request) {
    if (IsChangeByAnotherSite(request)) return RefusalOfAnotherSite();
    services_->admin.EndSessions(request);
    return ToThePage(Cookies(request, "", std::chrono::seconds(0)));
  });
  for (const LiveFile& file : LiveFiles())
    router.Add("GET", std::string(file.path), [&file](const HttpRequest&) { return ResponseOf(file); });
}

Status LivePlugin::Start(const RelayServices& services) {
  services_.emplace(services);
  settings_.emplace(services.context.limiter);
  feed_ = std::make_unique<LiveFeed>(LiveFeed::Source{.sample = [this] { return TakeSample(); },
                                                      .describe = [this](LiveRates& rates) { return Describe(rates); }},
                                     LiveFeed::About{.run = Milliseconds(wall_clock_.Now()),
                                                     .name = name(),
                                                     .version = std::string(Version()),
                                                     .store = StoreName(services.configuration.storage.store)},
                                     clock_);
  feed_->Start();
  is_open_ = true;
  return Status();
}

void LivePlugin::Stop() {
  if (feed_ != nullptr) feed_->Stop();
}

void LivePlugin::AppendMetrics(MetricFamilies& families) const {
  if (!is_open_) return;
  families.Gauge("weir_live_listeners", "Pages and terminals that follow /live").Add(feed_->listeners());
}

LiveFeed::Sample LivePlugin::TakeSample() {
  services_->context.pool.FadeTakers(kKeptEachSecond);
  return sampler_.Take(services_->metrics);
}

LiveState LivePlugin::Describe(LiveRates& rates) const {
  LiveState state;
  state.settings = settings_->Now();
  const RelayMetrics& metrics = services_->metrics;
  const MetricSources sources = metrics.Sources();
  if (sources.limiter == nullptr) {
    state.summary = "The relay is starting, or about to stop.";
    return state;
  }
  const LimiterView view = sources.limiter->View();
  const std::optional<RocksDbDetails> rocksdb =
      sources.rocksdb != nullptr ? std::optional(sources.rocksdb->Details()) : std::nullopt;
  const std::optional<PostgresDetails> postgres =
      sources.postgres != nullptr ? std::optional(sources.postgres->Details()) : std::nullopt;
  const EngineDetails engine{rocksdb ? &*rocksdb : nullptr, postgres ? &*postgres : nullptr};
  const Sampler::Felt felt = sampler_.felt();
  state.write = WriteInWords(view, WorkClass::kInteractive, felt.write, engine);
  state.bulk = WriteInWords(view, WorkClass::kBulk, felt.bulk, engine);
  state.read = ReadInWords(view, engine);
  const LimiterSettings& limiter = services_->configuration.storage.limiter;
  Summarize(view, limiter.on_sensor_loss, felt, &state);
  if (!limiter.enabled) {
    state.mood = LiveMood::kUnthrottled;
    state.summary = "The throttle is off (WEIR_RATE_LIMIT_ENABLED): the engine has only its own brakes.";
  }

  LiveTables tables(rates);
  AddSignals(view, engine, &tables);
  AddControllers(*sources.limiter, &tables);
  AddLatencies(sampler_.latencies().Recent(), sampler_.latencies().seconds(), &tables);
  AddMemory(engine, view.sample, &tables);
  AddEngine(engine, sources.store ? sources.store() : StoreSizes{}, &tables);
  if (sources.postgres_readers) AddReaders(sources.postgres_readers(), &tables);
  if (rocksdb) AddLevels(*rocksdb, &tables);
  AddClients(services_->heaviest_clients(), 1 - kKeptEachSecond, &tables);
  AddKinds(metrics.counters().SavedByKind(), &tables);
  AddRefusals(metrics.counters().Refusals(), &tables);
  services_->append_live(tables);
  state.tables = std::move(tables).Take();
  return state;
}

void LivePlugin::Page(MakePage make, const HttpRequest& request, const HttpReply& reply) {
  std::string_view by;
  if (auto refusal = services_->admin.RefusalOfPage(request, AdminRight::kRead, &by)) {
    if (!WantsPage(request)) return reply(*std::move(refusal));
    return reply(SignInPage(name(), 401, "", request.path));
  }
  const bool is_still = request.query == "still";
  const bool taken = feed_->Ask([this, make, reply, by, is_still](const LiveMoment& moment) {
    reply(make({.relay = name(), .settings = settings_->rows(), .known_by = by, .is_still = is_still}, moment));
  });
  if (!taken) reply(TooMany("too many requests for this page"));
}

void LivePlugin::State(const HttpRequest& request, const HttpReply& reply) {
  if (auto refusal = services_->admin.RefusalOfPage(request, AdminRight::kRead)) return reply(*std::move(refusal));
  const bool taken = feed_->Ask([reply](const LiveMoment& moment) {
    reply({.content_type = "application/json", .body = *moment.json(), .headers = {{"Cache-Control", "no-store"}}});
  });
  if (!taken) reply(TooMany("too many requests for /live/state"));
}

LivePlugin::Begun LivePlugin::Events(const HttpRequest& request, HttpExchange& exchange) {
  if (auto refusal = services_->admin.RefusalOfPage(request, AdminRight::kRead)) return *std::move(refusal);
  if (request.method == "HEAD")
    return HttpResponse{.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}};
  auto stream = std::make_shared<LiveStream>(exchange);
  if (!feed_->Join(stream))
    return TooMany("the limit of " + std::to_string(LiveFeed::kMostListeners) + " listeners is reached");
  stream->Begin();
  return stream;
}

HttpResponse LivePlugin::SignIn(const HttpRequest& request) {
  if (IsChangeByAnotherSite(request)) return SignInPage(name(), 403, "a page of another site may not sign in here");
  const Result<std::vector<LiveSettings::Change>> form = ReadForm(request);
  const auto field = [&form](std::string_view name) {
    const auto found = std::ranges::find(form.value(), name, &LiveSettings::Change::first);
    return found == form.value().end() ? std::string_view() : TrimBlanks(found->second);
  };
  if (!form.ok() || field("token").empty()) return SignInPage(name(), 400, "a form with a token is needed");
  const std::string_view path = field("page") == kModerationPath ? kModerationPath : kLivePath;
  const auto session = services_->admin.SessionFor(field("token"));
  if (!session) return WrongToken(request, path);
  spdlog::info("live: {} has signed in", request.address);
  return ToThePage(Cookies(request, *session, Admin::kSessionLasts), path);
}

HttpResponse LivePlugin::WrongToken(const HttpRequest& request, std::string_view path) {
  const uint64_t client = GroupOf(request.address);
  if (const auto wait = sign_ins_.Wait(client)) {
    HttpResponse response =
        SignInPage(name(), 429, "too many wrong tokens came from your address; wait " + InWords(*wait), path);
    response.headers.emplace_back("Retry-After",
                                  std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count()));
    return response;
  }
  sign_ins_.NoteWrong(client);
  if (const auto line = wrong_tokens_.Take(std::chrono::steady_clock::now()))
    spdlog::warn("live: {} has shown a wrong token{}", request.address, line->Suffix());
  return SignInPage(name(), 401, "wrong token; each start of the relay makes a new one", path);
}

HttpResponse LivePlugin::Change(const HttpRequest& request) {
  std::string_view by;
  if (auto refusal = services_->admin.RefusalOfPage(request, AdminRight::kSettings, &by)) return *std::move(refusal);
  if (IsChangeByAnotherSite(request)) return RefusalOfAnotherSite();
  const Result<std::vector<LiveSettings::Change>> form = ReadForm(request);
  if (!form.ok()) return {.status = 400, .body = form.status().message() + "\n"};
  if (form.value().empty())
    return {.status = 400, .body = "name the settings to change, such as IMPORT_SETPOINT=0.6\n"};
  const Result<std::vector<std::string>> changed = settings_->Apply(ChangesIn(form.value()));
  if (!changed.ok()) return {.status = 400, .body = changed.status().message() + "\nNo setting was changed.\n"};
  NoteChange(request, by, changed.value());
  if (WantsPage(request)) return ToThePage();
  return {.body = changed.value().empty() ? "no setting was changed\n" : Join(changed.value(), "\n") + "\n"};
}

void LivePlugin::NoteChange(const HttpRequest& request, std::string_view by, const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    LogAsked(fmt::format("live: {} by {}, known by {}, until the next start", change, request.address, by));
    feed_->Mark({.at = static_cast<double>(Milliseconds(wall_clock_.Now())) / 1000,
                 .kind = "setting",
                 .text = change,
                 .who = request.address + ", by " + std::string(by)});
  }
}

}  // namespace weir
