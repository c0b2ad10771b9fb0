#include "relay/client.h"

#include <boost/asio/post.hpp>
#include <utility>
#include <variant>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/policy.h"

namespace weir {
namespace {

// More than a client's mistake: a connection that sends so many messages that are none, less one for each good one.
constexpr uint32_t kMostBadMessages = 100;

constexpr std::string_view kShuttingDown = "error: the relay is shutting down";

Verb VerbOf(const ClientMessage& message) {
  constexpr Verb kVerbs[] = {Verb::kEvent, Verb::kAuth, Verb::kReq, Verb::kCount, Verb::kClose};
  if (const auto* bad = std::get_if<BadMessage>(&message)) return bad->verb;
  return kVerbs[message.index()];
}

}  // namespace

Client::Client(RelayContext& context, EventPipeline& pipeline, Connection& connection)
    : context_(context),
      limits_(MessageLimitsOf(context.settings)),
      peer_(std::make_shared<Peer>(connection, context.metrics)),
      window_(std::make_shared<EventWindow>(context, pipeline, peer_)),
      requests_(std::make_shared<Requests>(context, peer_)) {}

void Client::OnText(std::string_view text) {
  if (peer_->gone()) return;
  if (verifies_auth_) {
    deferred_.emplace_back(text);
    return;
  }
  ClientMessage message = ParseClientMessage(text, limits_);
  context_.metrics.CountClientMessage(VerbOf(message));
  if (!std::holds_alternative<BadMessage>(message) && bad_messages_ > 0) --bad_messages_;
  std::visit([this](auto& m) { Handle(std::move(m)); }, message);
}

void Client::OnReadEnd() { window_->Flush(); }

void Client::Handle(EventText event) {
  if (!shutting_down_) return window_->Add(event.json);
  SayOk(Verb::kEvent, FindId(event.json), kShuttingDown);
}

void Client::Handle(Req req) {
  if (shutting_down_) return peer_->SayClosed(Verb::kReq, req.subscription, kShuttingDown);
  requests_->Subscribe(std::move(req));
}

void Client::Handle(CountReq count) {
  if (shutting_down_) return peer_->SayClosed(Verb::kCount, count.subscription, kShuttingDown);
  requests_->Count(std::move(count));
}

void Client::Handle(CloseReq close) { requests_->Close(close.subscription); }

void Client::Handle(BadMessage bad) {
  const std::string reason = "invalid: " + bad.reason;
  if ((bad.verb == Verb::kReq || bad.verb == Verb::kCount) && !bad.subject.empty()) {
    peer_->SayClosed(bad.verb, bad.subject, reason);
  } else if (bad.verb == Verb::kEvent || bad.verb == Verb::kAuth) {
    SayOk(bad.verb, bad.subject, reason);
  } else {
    peer_->LogRefusal(bad.verb, reason);
    peer_->Say(RelayVerb::kNotice, NoticeMessage(reason));
  }
  if (++bad_messages_ == kMostBadMessages) peer_->Close(CloseCode::kPolicy, "too many bad messages");
}

void Client::Handle(AuthText auth) {
  window_->Flush();
  verifies_auth_ = true;
  peer_->PauseReading();
  context_.pool.Submit(Urgency::kFair, peer_->party(),
                       [self = shared_from_this(), json = std::string(auth.json), challenge = peer_->challenge()] {
                         self->VerifyAuth(json, challenge);
                       });
}

// On a worker.
void Client::VerifyAuth(const std::string& json, const std::string& challenge) {
  EventParser parser(EventLimitsOf(context_.settings));
  const Result<Event> parsed = parser.Parse(json);
  std::string id_hex(FindId(json));
  std::string refusal;
  PublicKey key{};
  if (!parsed.ok()) {
    refusal = "invalid: " + parsed.status().message();
  } else {
    const EventView event = parsed.value().view();
    key = event.pubkey();
    std::string relay = context_.settings.url;
    if (relay.empty() && IsNearby(peer_->host())) relay = peer_->host();
    refusal =
        RefusalOfAuth(event, {.challenge = challenge, .relay = relay, .now_seconds = context_.wall_clock.NowSeconds()});
    if (refusal.empty() && !VerifySignature(event)) refusal = "invalid: the signature is not its author's";
  }
  boost::asio::post(peer_->executor(),
                    [self = shared_from_this(), id_hex = std::move(id_hex), refusal = std::move(refusal), key] {
                      self->OnAuthVerified(id_hex, refusal, key);
                    });
}

void Client::OnAuthVerified(std::string id_hex, std::string refusal, const PublicKey& key) {
  verifies_auth_ = false;
  if (refusal.empty() && peer_->identity()->size() >= Identity::kMostKeys) {
    refusal = "restricted: a connection may prove at most " + std::to_string(Identity::kMostKeys) + " keys";
  }
  if (refusal.empty()) peer_->Know(key);
  SayOk(Verb::kAuth, id_hex, refusal);
  while (!deferred_.empty() && !verifies_auth_) {
    const std::string text = std::move(deferred_.front());
    deferred_.pop_front();
    OnText(text);
  }
  window_->Flush();
  peer_->ResumeReading();
  if (shutting_down_) FinishWhenIdle();
}

// OK true where there is no refusal. Without an id there is nothing to say OK to, so it is a NOTICE.
void Client::SayOk(Verb of, std::string_view id_hex, std::string_view refusal) {
  if (!refusal.empty()) {
    context_.metrics.CountRefusal(PrefixOf(refusal));
    peer_->LogRefusal(of, refusal);
  }
  if (id_hex.empty()) return peer_->Say(RelayVerb::kNotice, NoticeMessage(refusal));
  peer_->Say(RelayVerb::kOk, OkMessage(id_hex, refusal.empty(), refusal));
}

void Client::OnShutdown(std::function<void()> done) {
  shutting_down_ = true;
  shutdown_done_ = std::move(done);
  FinishWhenIdle();
}

void Client::FinishWhenIdle() {
  if (verifies_auth_) return;
  window_->WhenIdle([self = shared_from_this()] {
    self->requests_->CloseAll(kShuttingDown);
    if (self->shutdown_done_) std::exchange(self->shutdown_done_, nullptr)();
  });
}

void Client::OnEnd(std::string_view) {
  peer_->End();
  deferred_.clear();
  window_->End();
  requests_->End();
  shutdown_done_ = nullptr;
}

}  // namespace weir
