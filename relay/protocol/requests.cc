#include "relay/protocol/requests.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "relay/account/work.h"
#include "relay/protocol/policy.h"
#include "relay/protocol/searches.h"

namespace weir {
namespace {

// The most requests of one connection that run at once. If it were 1, a long scan would delay short requests; if it
// were large, one connection could have many scans at work.
constexpr size_t kMostAtOnce = 4;
// The most open NEG-OPENs of one connection. A program that compares its events needs one for each filter.
constexpr size_t kMostSyncs = 8;
// The bytes of a question to a plugin, without its line.
constexpr uint64_t kQuestionBytes = 512;
constexpr std::string_view kPrivateNeedsAuth = "auth-required: direct messages are shown to their parties only";

}  // namespace

Requests::Requests(RelayContext& context, std::shared_ptr<Peer> peer)
    : context_(context),
      peer_(peer),
      room_(std::make_shared<RequestRoom>(context, std::move(peer), static_cast<RequestRoom::Owner&>(*this))) {}

// Closes the room only if End was not called. After End the last owner of this object may be a task of a worker, while
// other threads read the room, which is closed already.
Requests::~Requests() {
  if (!room_->is_closed()) room_->Close();
}

void Requests::Subscribe(Req req) {
  Close(req.subscription);
  Add(std::move(req.subscription), std::move(req.filters), Verb::kReq);
}

// Removes the filters' limits, which have no meaning for a count.
void Requests::Count(CountReq count) {
  for (Filter& filter : count.filters) filter.limit.reset();
  Add(std::move(count.subscription), std::move(count.filters), Verb::kCount);
}

void Requests::OpenSync(NegOpen open) {
  CloseSync(open.subscription);
  Add(std::move(open.subscription), std::move(open.filters), Verb::kNegOpen, std::move(open.message));
}

void Requests::Hear(NegMsg message) {
  const auto found = syncs_.find(message.subscription);
  if (found == syncs_.end()) {
    return peer_->SayClosed(Verb::kNegMsg, message.subscription,
                            "closed: no NEG-OPEN with this id is open; it may have been closed");
  }
  Request& request = *found->second;
  const std::string refusal = request.Hear(std::move(message.message));
  refusal.empty() ? Queue(request) : request.Refuse(refusal);
}

void Requests::CloseSilentSyncs() {
  for (auto next = syncs_.begin(); next != syncs_.end();) {
    Request* const request = next++->second;  // refusing it removes it
    if (request->IsSilent()) request->Refuse("closed: no NEG-MSG came for two minutes");
  }
}

void Requests::Add(std::string name, std::vector<Filter> filters, Verb verb, std::string message) {
  std::string refusal = RefusalOf(filters, verb);
  if (refusal.empty()) refusal = PrepareSearches(context_.searched_kinds, verb, &filters);
  if (const Work work = WorkOfSearches(filters); work > 0) peer_->Charge(work);
  const bool may_want_auth = context_.settings.auth && peer_->identity()->empty() && MayWantAuth(filters);
  const auto request =
      std::make_shared<Request>(context_, peer_, room_, std::move(name), std::move(filters), verb, std::move(message));
  if (refusal.empty()) refusal = request->TakeMemory();
  if (!refusal.empty()) {
    if (PrefixOf(refusal) == "auth-required") peer_->AskForAuth();
    request->EndSpan(refusal);
    return peer_->SayClosed(verb, request->name(), refusal);
  }
  if (may_want_auth) peer_->AskForAuth();
  if (verb == Verb::kReq) by_name_.emplace(request->name(), request.get());
  if (verb == Verb::kNegOpen) {
    syncs_.emplace(request->name(), request.get());
    context_.counters.CountOpenSyncs(1);
  }
  requests_.emplace(request.get(), request);
  context_.read_plugin == nullptr ? Queue(*request) : AskPlugin(*request);
}

// The callback owns the memory of the question: the question may outlive the request, but not its time-out.
void Requests::AskPlugin(Request& request) {
  const AskedRequest asked{.subscription = request.name(),
                           .filters = request.filters(),
                           .verb = NameOf(request.verb()),
                           .keys = peer_->identity()->hex()};
  PluginQuestion question = QuestionAbout(asked, context_.wall_clock.NowSeconds(), SourceOfClient(peer_->address()));
  question.address = GroupOf(peer_->party());
  peer_->Charge(question.line.size() * kWrittenByteWork);
  std::optional<HeldBytes> memory =
      HeldBytes::Try(peer_->account(), question.line.size() + kQuestionBytes, Memory::kWaiting);
  if (!memory) {
    return request.Refuse("rate-limited: the requests of your address that are being judged hold too much memory");
  }
  ++questions_;
  const auto held = std::make_shared<HeldBytes>(std::move(*memory));
  context_.read_plugin->Ask(std::move(question), [weak = weak_from_this(), one = request.weak_from_this(), held,
                                                  executor = peer_->executor()](PluginVerdict verdict) {
    boost::asio::post(executor, [weak, one, held, verdict = std::move(verdict)] {
      if (const auto self = weak.lock()) self->OnVerdict(one.lock().get(), verdict);
    });
  });
}

// `request` may have ended meanwhile, and so may the connection, whose requests are then removed piece by piece.
void Requests::OnVerdict(Request* request, const PluginVerdict& verdict) {
  --questions_;
  if (peer_->gone() || !requests_.contains(request)) return;
  if (verdict.action == PluginAction::kShadowReject && !request->FindNothing()) return request->AnswerNothing();
  if (verdict.action != PluginAction::kReject) return Queue(*request);
  if (PrefixOf(verdict.refusal) == "auth-required") peer_->AskForAuth();
  request->Refuse(verdict.refusal);
}

void Requests::Queue(Request& request) {
  queue_.push_back(&request);
  StartNext();
}

std::string Requests::RefusalOf(const std::vector<Filter>& filters, Verb verb) const {
  const RelaySettings& settings = context_.settings;
  if (settings.auth_required && peer_->identity()->empty()) {
    return "auth-required: this relay answers only authenticated clients";
  }
  if (settings.auth && peer_->identity()->empty() && AsksOnlyForPrivate(filters)) return std::string(kPrivateNeedsAuth);
  const RuleClient reader{.proved = peer_->identity()->keys(), .address = peer_->address_bytes()};
  if (Ruling ruling = context_.rules->JudgeRead(filters, reader); ruling.refused()) return std::move(ruling.reason);
  if (std::max(requests_.size(), questions_) >= settings.max_subscriptions) {
    return "error: too many subscriptions, at most " + std::to_string(settings.max_subscriptions) +
           " at once; CLOSE some first";
  }
  if (verb == Verb::kNegOpen && syncs_.size() >= kMostSyncs) {
    return "rate-limited: at most " + std::to_string(kMostSyncs) +
           " NEG-OPENs of a connection may be open at once; NEG-CLOSE some first";
  }
  return "";
}

void Requests::CloseNamed(const std::string& name, ByName* requests) {
  const auto found = requests->find(name);
  if (found != requests->end()) Remove(*found->second);
}

void Requests::CloseAll(std::string_view reason) {
  queue_.clear();
  while (!requests_.empty()) requests_.begin()->second->Refuse(reason);
}

// Closes some requests, and the others in the next tasks: when the operator denies the reading to all, thousands of
// connections have requests to close.
void Requests::CloseIfDenied() {
  if (requests_.empty()) return;
  const std::string reason = room_->RefusalOfReader();
  if (reason.empty()) return;
  if (PrefixOf(reason) == "auth-required") peer_->AskForAuth();
  for (size_t n = 0; n < kMostAtOnce && !requests_.empty(); ++n) requests_.begin()->second->Refuse(reason);
  if (requests_.empty()) return;
  boost::asio::post(peer_->executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CloseIfDenied();
  });
}

// Removes the requests later, as long as there is memory for a task.
void Requests::End() {
  queue_.clear();
  for (auto& [key, request] : requests_) request->Stop();
  RemoveSomeSoon();
}

// Removes the requests in several tasks: a request may have thousands of entries in the live index, and other tasks of
// the thread run in between. If there is no memory for a task, removes all at once, because the live index must not
// keep a pointer to a request that is destroyed.
void Requests::RemoveSomeSoon() try {
  boost::asio::post(peer_->executor(), [self = shared_from_this()] {
    for (size_t n = 0; n < kMostAtOnce && !self->requests_.empty(); ++n) self->Remove(*self->requests_.begin()->second);
    if (!self->requests_.empty()) return self->RemoveSomeSoon();
    self->room_->Close();
  });
} catch (const std::exception&) {
  while (!requests_.empty()) Remove(*requests_.begin()->second);
  room_->Close();
}

void Requests::Remove(Request& request) {
  const auto self = request.shared_from_this();
  std::erase(queue_, &request);
  if (request.verb() == Verb::kReq) by_name_.erase(request.name());
  if (request.verb() == Verb::kNegOpen) {
    syncs_.erase(request.name());
    context_.counters.CountOpenSyncs(-1);
  }
  requests_.erase(&request);
  request.End();
}

void Requests::StartNext() {
  for (size_t started = 0; !queue_.empty() && running_ < kMostAtOnce && !waits_for_room_; ++started) {
    if (started == kMostAtOnce) return StartNextSoon();  // requests without a query may have ended at once
    if (room_->IsBehind()) {
      waits_for_room_ = true;
      return room_->WhenCaughtUp([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->waits_for_room_ = false;
        self->StartNext();
      });
    }
    const auto next = queue_.front()->shared_from_this();
    queue_.pop_front();
    ++running_;
    next->Start();
  }
}

void Requests::ReturnPlace() {
  --running_;
  if (!queue_.empty()) StartNextSoon();
}

void Requests::StartNextSoon() {
  if (starts_soon_) return;
  boost::asio::post(peer_->executor(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->starts_soon_ = false;
    self->StartNext();
  });
  starts_soon_ = true;  // only now, because memory may run out in the post
}

}  // namespace weir
