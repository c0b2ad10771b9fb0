#include "relay/requests.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "relay/policy.h"
#include "relay/request_cost.h"

namespace weir {
namespace {

// Of one connection. One would let a long scan hold up its short ones; with many, a connection had many turns.
constexpr size_t kMostAtOnce = 4;
// Output that waits above which no more is read from the store, and below which it goes on: at most this, and at most
// these parts of what makes the server end the connection, so that a slice never does.
constexpr uint64_t kEnoughPending = 256 << 10;
constexpr uint64_t kEnoughPart = 16;
constexpr uint64_t kLittlePending = 64 << 10;
constexpr uint64_t kLittlePart = 64;
// Of a COUNT: about two seconds of a worker.
constexpr uint64_t kMostCounted = 2'000'000;
// Of a REQ, whose filters may match little of what they make the store look at.
constexpr uint64_t kMostVisited = 5'000'000;

// Filter values of a connection's requests together, in those that one filter may have.
constexpr uint64_t kFiltersWorth = 4;

constexpr std::string_view kPrivateNeedsAuth = "auth-required: direct messages are shown to their parties only";

}  // namespace

struct Requests::Request final : LiveSubscriber {
  explicit Request(Requests& r) : requests(r) {}
  void OnLive(const LiveEvent& event) override { requests.OnLive(*this, event); }

  Requests& requests;
  uint64_t serial = 0;
  std::string name;
  bool is_count = false;
  TimePoint received;
  std::vector<Filter> filters;  // until it begins
  std::string message_head;
  std::shared_ptr<Scan> scan;  // while it runs
  bool has_turn = false;
  uint64_t filter_values = 0;

  LiveIndex::Key live_key = 0;  // 0: not entered
  bool holds = true;            // until the stored events are out
  uint64_t last_serial = 0;     // of what the query saw
  // What the query asked for, where the subscription asks for more (by limit 0): the query saw nothing of the rest.
  std::vector<Filter> asked;
  std::vector<LiveEvent> held;
  size_t held_bytes = 0;
};

Requests::Requests(RelayContext& context, std::shared_ptr<Peer> peer) : context_(context), peer_(std::move(peer)) {}

Requests::~Requests() = default;

void Requests::Subscribe(Req req) {
  if (const auto replaced = by_name_.find(req.subscription); replaced != by_name_.end())
    Remove(*requests_.at(replaced->second));
  Add(std::move(req.subscription), std::move(req.filters), false);
}

// Its answer is how many there are, so a limit has nothing to say.
void Requests::Count(CountReq count) {
  for (Filter& filter : count.filters) filter.limit.reset();
  Add(std::move(count.subscription), std::move(count.filters), true);
}

void Requests::Add(std::string name, std::vector<Filter> filters, bool is_count) {
  const uint64_t values = ValuesIn(filters);
  std::string refusal = RefusalOf(filters);
  if (refusal.empty()) refusal = TakeValues(values);
  if (!refusal.empty()) {
    if (PrefixOf(refusal) == "auth-required") peer_->AskForAuth();
    return peer_->SayClosed(is_count ? Verb::kCount : Verb::kReq, name, refusal);
  }
  auto request = std::make_unique<Request>(*this);
  request->serial = ++last_serial_;
  request->is_count = is_count;
  request->received = context_.clock.Now();
  request->filters = std::move(filters);
  request->filter_values = values;
  if (!is_count) {
    request->message_head = EventMessageHead(name);
    by_name_.emplace(name, request->serial);
  }
  request->name = std::move(name);
  queue_.push_back(request->serial);
  requests_.emplace(request->serial, std::move(request));
  StartNext();
}

std::string Requests::RefusalOf(const std::vector<Filter>& filters) const {
  const RelaySettings& settings = context_.settings;
  if (settings.auth_required && peer_->identity()->empty()) {
    return "auth-required: this relay answers only those it knows";
  }
  if (settings.auth && peer_->identity()->empty() && AsksOnlyForPrivate(filters)) return std::string(kPrivateNeedsAuth);
  if (requests_.size() >= settings.max_subscriptions) {
    return "restricted: too many subscriptions, at most " + std::to_string(settings.max_subscriptions) +
           " at once; CLOSE some first";
  }
  return "";
}

// Why not, or nothing, and they are taken until Remove.
std::string Requests::TakeValues(uint64_t values) {
  const uint64_t most = kFiltersWorth * context_.settings.max_filter_values;
  if (filter_values_ + values > most) {
    return "restricted: the filters of a connection's requests may have " + std::to_string(most) +
           " values together; CLOSE some first";
  }
  if (!context_.filter_values->Take(peer_->party().group, values, context_.max_filter_values)) {
    return "rate-limited: the requests of your address, or of all clients, take too much memory; ask for less";
  }
  filter_values_ += values;
  return "";
}

void Requests::Close(const std::string& subscription) {
  const auto found = by_name_.find(subscription);
  if (found != by_name_.end()) Remove(*requests_.at(found->second));
}

void Requests::CloseAll(std::string_view reason) {
  queue_.clear();
  while (!requests_.empty()) Refuse(*requests_.begin()->second, reason);
}

// Not here and now: the connection may have ended while one of the requests was writing to it.
void Requests::End() {
  queue_.clear();
  for (auto& [serial, request] : requests_)
    if (request->scan) request->scan->Cancel();
  boost::asio::post(peer_->executor(), [self = shared_from_this()] {
    while (!self->requests_.empty()) self->Remove(*self->requests_.begin()->second);
  });
}

size_t Requests::enough_pending() const {
  return static_cast<size_t>(std::min(kEnoughPending, context_.max_pending_bytes / kEnoughPart));
}

size_t Requests::little_pending() const {
  return static_cast<size_t>(std::min(kLittlePending, context_.max_pending_bytes / kLittlePart));
}

void Requests::StartNext() {
  while (!queue_.empty() && running_ < kMostAtOnce && !waits_for_room_) {
    if (peer_->pending_bytes() > enough_pending()) {
      waits_for_room_ = true;
      peer_->WhenPendingBelow(little_pending(), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->waits_for_room_ = false;
        self->StartNext();
      });
      return;
    }
    const uint64_t serial = queue_.front();
    queue_.pop_front();
    Start(*requests_.at(serial));
  }
}

void Requests::Start(Request& request) {
  ++running_;
  request.has_turn = true;
  std::vector<Filter> stored = std::exchange(request.filters, {});
  if (!request.is_count) EnterLive(request, stored);
  const size_t all = stored.size();
  std::erase_if(stored, [](const Filter& filter) { return filter.limit == 0; });
  const bool live_only = stored.size() < all;
  std::erase_if(stored, [](const Filter& filter) { return filter.MatchesNothing(); });
  if (live_only) request.asked = stored;
  if (stored.empty()) {
    return Finish(request, {}, live_only ? Completeness::kUnknown : Completeness::kFinish);
  }
  request.scan = std::make_shared<Scan>(context_, PlanOf(request, std::move(stored)), peer_->executor(),
                                        [weak = weak_from_this(), serial = request.serial](ScanReport report) {
                                          if (const auto self = weak.lock()) self->OnReport(serial, std::move(report));
                                        });
  request.scan->Start();
}

// Without what no event to come can match, now or later: it would only be looked at with every one.
void Requests::EnterLive(Request& request, const std::vector<Filter>& filters) {
  const uint64_t now = context_.wall_clock.NowSeconds();
  const uint64_t past = context_.settings.created_at_past_s;
  const uint64_t oldest = past > 0 && now > past ? now - past : 0;
  std::vector<Filter> live;
  for (const Filter& filter : filters)
    if (!filter.MatchesNothing() && filter.until >= oldest) live.push_back(filter);
  request.live_key = context_.delivery.Subscribe(peer_->io_thread(), std::move(live), &request);
}

ScanPlan Requests::PlanOf(Request& request, std::vector<Filter> filters) const {
  const RelaySettings& settings = context_.settings;
  ScanPlan plan;
  plan.party = peer_->party();
  plan.message_head = request.message_head;
  plan.options.now_seconds = context_.wall_clock.NowSeconds();
  if (request.is_count) {
    plan.cost = CostOfCount(filters);
    plan.max_visits = kMostCounted;
    plan.options.default_limit = plan.options.max_limit = UINT64_MAX;
  } else {
    plan.max_visits = kMostVisited;
    plan.cost = CostOfRequest(filters, settings.default_limit, settings.max_limit);
    plan.options.default_limit = settings.default_limit;
    plan.options.max_limit = settings.max_limit;
  }
  if (settings.auth) {
    plan.options.visible = [identity = peer_->identity()](EventView event) {
      return !IsPrivate(event.kind()) || IsPartyTo(event, *identity);
    };
  }
  plan.filters = std::move(filters);
  return plan;
}

void Requests::OnReport(uint64_t serial, ScanReport report) {
  Request* request = Find(serial);
  if (request == nullptr) return ReturnTurn();  // it was closed meanwhile
  if (!report.refusal.empty()) return Refuse(*request, report.refusal);
  SayEvents(*request, report);
  if (report.done) return Finish(*request, report, report.complete ? Completeness::kFinish : Completeness::kMore);
  if (peer_->pending_bytes() <= enough_pending()) return request->scan->Next();
  request->scan->Pause();
  peer_->WhenPendingBelow(little_pending(), [weak = weak_from_this(), serial] {
    const auto self = weak.lock();
    Request* const waiting = self ? self->Find(serial) : nullptr;
    if (waiting != nullptr) waiting->scan->Next();
  });
}

void Requests::SayEvents(const Request& request, const ScanReport& report) {
  if (request.is_count) return;
  uint32_t begin = 0;
  for (const uint32_t end : report.ends) {
    const std::string_view message = std::string_view(*report.text).substr(begin, end - begin);
    peer_->SayEvent({.head = {}, .owner = report.text, .body = message, .tail = {}});
    begin = end;
  }
}

void Requests::Finish(Request& request, const ScanReport& report, Completeness completeness) {
  request.scan.reset();
  if (request.is_count) {
    peer_->Say(RelayVerb::kCount, CountMessage(request.name, report.found));
    return Remove(request);
  }
  const Duration latency = context_.clock.Now() - request.received;
  context_.metrics.ReqToEose(latency);
  context_.limiter.RecordLatency(Operation::kRead, latency);
  peer_->Say(RelayVerb::kEose, EoseMessage(request.name, completeness));
  request.holds = false;
  request.last_serial = report.last_serial;
  held_bytes_ -= std::exchange(request.held_bytes, 0);
  for (const LiveEvent& event : std::exchange(request.held, {})) SayLive(request, event);
  request.has_turn = false;
  ReturnTurn();
}

void Requests::OnLive(Request& request, const LiveEvent& event) {
  if (!request.holds) return SayLive(request, event);
  const size_t bytes = event.event.record()->size();
  if (peer_->pending_bytes() + held_bytes_ + bytes > context_.max_pending_bytes) {
    return Refuse(request, "error: more new events than this connection takes while it is sent the stored ones");
  }
  held_bytes_ += bytes;
  request.held_bytes += bytes;
  request.held.push_back(event);
}

void Requests::SayLive(const Request& request, const LiveEvent& event) {
  const EventView view = event.event.view();
  const auto wants = [&](const Filter& filter) { return filter.Matches(view); };
  if (event.serial != 0 && event.serial <= request.last_serial &&
      (request.asked.empty() || std::any_of(request.asked.begin(), request.asked.end(), wants))) {
    return;
  }
  if (context_.settings.auth && IsPrivate(view.kind()) && !IsPartyTo(view, *peer_->identity())) return;
  peer_->SayEvent(
      {.head = request.message_head, .owner = event.event.record(), .body = view.json(), .tail = kEventMessageTail});
}

void Requests::Refuse(Request& request, std::string_view reason) {
  peer_->SayClosed(request.is_count ? Verb::kCount : Verb::kReq, request.name, reason);
  Remove(request);
}

void Requests::Remove(Request& request) {
  if (request.live_key != 0) context_.delivery.Unsubscribe(peer_->io_thread(), request.live_key);
  context_.filter_values->GiveBack(peer_->party().group, request.filter_values);
  filter_values_ -= request.filter_values;
  held_bytes_ -= request.held_bytes;
  std::erase(queue_, request.serial);
  if (!request.is_count) by_name_.erase(request.name);
  // A slice that a worker has keeps the turn until it is back, so closing and asking again is no way around it.
  const bool slice_is_out = request.scan && request.scan->Cancel();
  const bool gives_back = request.has_turn && !slice_is_out;
  requests_.erase(request.serial);
  if (gives_back) ReturnTurn();
}

void Requests::ReturnTurn() {
  --running_;
  StartNext();
}

Requests::Request* Requests::Find(uint64_t serial) {
  const auto found = requests_.find(serial);
  return found == requests_.end() ? nullptr : found->second.get();
}

}  // namespace weir
