#include "relay/protocol/client.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>
#include <variant>

#include "relay/net/host_names.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/protocol/policy.h"

namespace weir {
namespace {

// The count of bad messages at which a connection is closed. Each good message subtracts one from the count, and so
// does every kForgivenAfter that passes, but the count never falls below 0.
constexpr uint32_t kMostBadMessages = 100;
constexpr Duration kForgivenAfter = std::chrono::seconds(10);

// Charged for each message other than an EVENT, in addition to the work of its frame: the message is parsed, entered or
// answered, and perhaps logged.
constexpr Work kRequestWork = 3'000;
constexpr Work kRequestByteWork = 8;

constexpr std::string_view kShuttingDown = "error: the relay is shutting down";
// The answer if WEIR_MAX_SYNC_EVENTS is 0. It begins with the prefix that NIP-77 has for a refusal; clients react to it
// at once.
constexpr std::string_view kNoNegentropy = "blocked: negentropy is not supported here; use REQ";

Verb VerbOf(const ClientMessage& message) {
  constexpr Verb kVerbs[] = {Verb::kEvent,   Verb::kAuth,   Verb::kReq,      Verb::kCount,  Verb::kClose,
                             Verb::kNegOpen, Verb::kNegMsg, Verb::kNegClose, Verb::kUnknown};
  if (const auto* bad = std::get_if<BadMessage>(&message)) return bad->verb;
  return kVerbs[message.index()];
}

}  // namespace

Client::Client(RelayContext& context, EventPipeline& pipeline, Connection& connection)
    : context_(context),
      limits_(MessageLimitsOf(context.settings)),
      peer_(std::make_shared<Peer>(connection, context.counters)),
      window_(std::make_shared<EventWindow>(context, pipeline, peer_)),
      requests_(std::make_shared<Requests>(context, peer_)),
      forgiven_at_(context.clock.Now()) {
  if (context.settings.auth_required) peer_->AskForAuth();
}

void Client::OnText(std::string_view text) {
  if (peer_->gone()) return;
  ClientMessage message = ParseClientMessage(text, limits_);
  if (!std::holds_alternative<EventText>(message)) peer_->Charge(kRequestWork + text.size() * kRequestByteWork);
  context_.counters.CountClientMessage(VerbOf(message));
  if (!std::holds_alternative<BadMessage>(message) && bad_messages_ > 0) --bad_messages_;
  std::visit([this](auto& m) { Handle(std::move(m)); }, message);
}

void Client::OnReadEnd() { window_->Flush(); }

void Client::Handle(EventText event) {
  if (!shutting_down_) return window_->Add(event.json);
  SayOk(Verb::kEvent, FindId(event.json), kShuttingDown);
}

void Client::Handle(Req req) {
  if (shutting_down_) return;
  requests_->Subscribe(std::move(req));
}

void Client::Handle(CountReq count) {
  if (shutting_down_) return;
  requests_->Count(std::move(count));
}

void Client::Handle(CloseReq close) { requests_->Close(close.subscription); }

void Client::Handle(NegOpen open) {
  if (shutting_down_) return;
  if (context_.settings.max_sync_events == 0) return peer_->SayClosed(Verb::kNegOpen, open.subscription, kNoNegentropy);
  requests_->OpenSync(std::move(open));
}

void Client::Handle(NegMsg message) {
  if (shutting_down_) return;
  requests_->Hear(std::move(message));
}

void Client::Handle(NegClose close) { requests_->CloseSync(close.subscription); }

void Client::OnTick() {
  requests_->CloseIfDenied();
  requests_->CloseSilentSyncs();
}

void Client::Handle(BadMessage bad) {
  const std::string reason = std::string(bad.prefix) + ": " + bad.reason;
  const bool is_sync = bad.verb == Verb::kNegOpen || bad.verb == Verb::kNegMsg;
  if (is_sync) requests_->CloseSync(bad.subject);
  if ((bad.verb == Verb::kReq || bad.verb == Verb::kCount || is_sync) && !bad.subject.empty()) {
    peer_->SayClosed(bad.verb, bad.subject, reason);
  } else if (bad.verb == Verb::kEvent || bad.verb == Verb::kAuth) {
    SayOk(bad.verb, bad.subject, reason);
  } else {
    peer_->LogRefusal(bad.verb, reason);
    peer_->Say(RelayVerb::kNotice, NoticeMessage(reason));
  }
  if (bad.prefix == "invalid") CountBadMessage();
}

void Client::CountBadMessage() {
  const TimePoint now = context_.clock.Now();
  const auto forgotten = static_cast<uint64_t>((now - forgiven_at_) / kForgivenAfter);
  bad_messages_ -= static_cast<uint32_t>(std::min<uint64_t>(forgotten, bad_messages_));
  forgiven_at_ += forgotten * kForgivenAfter;
  if (++bad_messages_ == kMostBadMessages) peer_->Close(CloseCode::kPolicy, "too many bad messages");
}

void Client::Handle(AuthText auth) {
  window_->Flush();
  verifies_auth_ = true;
  peer_->PauseReading();
  context_.pool.Submit(Urgency::kFair, peer_->party(), kSignatureWork + auth.json.size() * kParsedByteWork,
                       [self = shared_from_this(), json = std::string(auth.json), challenge = peer_->challenge()] {
                         self->VerifyAuth(json, challenge);
                       });
}

// Runs on a worker.
void Client::VerifyAuth(const std::string& json, const std::string& challenge) {
  std::string id_hex(FindId(json));
  std::string refusal;
  PublicKey key{};
  try {
    refusal = JudgeAuth(json, challenge, &key);
  } catch (const std::exception& fault) {
    refusal = std::string("error: a fault of this relay: ") + fault.what();
  }
  boost::asio::post(peer_->executor(),
                    [self = shared_from_this(), id_hex = std::move(id_hex), refusal = std::move(refusal), key] {
                      self->OnAuthVerified(id_hex, refusal, key);
                    });
}

// Returns the reason for a refusal; empty if the AUTH is good.
std::string Client::JudgeAuth(const std::string& json, const std::string& challenge, PublicKey* key) const {
  EventParser parser(EventLimitsOf(context_.settings));
  const Result<Event> parsed = parser.Parse(json);
  if (!parsed.ok()) return "invalid: " + parsed.status().message();
  const EventView event = parsed.value().view();
  *key = event.pubkey();
  std::string relay = context_.settings.url;
  if (relay.empty() && IsNearby(peer_->host())) relay = peer_->host();
  std::string refusal =
      RefusalOfAuth(event, {.challenge = challenge, .relay = relay, .now_seconds = context_.wall_clock.NowSeconds()});
  if (refusal.empty() && !VerifySignature(event)) refusal = "invalid: the signature is not its author's";
  return refusal;
}

void Client::OnAuthVerified(std::string id_hex, std::string refusal, const PublicKey& key) {
  verifies_auth_ = false;
  if (refusal.empty() && peer_->identity()->size() >= Identity::kMostKeys) {
    refusal = "restricted: a connection may prove at most " + std::to_string(Identity::kMostKeys) + " keys";
  }
  if (refusal.empty()) peer_->Know(key);
  SayOk(Verb::kAuth, id_hex, refusal);
  peer_->ResumeReading();
  GoOnWhenIdle();
}

// Answers OK true if `refusal` is empty, else OK false. If `id_hex` is empty, answers with a NOTICE, because an OK
// needs an id.
void Client::SayOk(Verb of, std::string_view id_hex, std::string_view refusal) {
  if (!refusal.empty()) {
    context_.counters.CountRefusal(refusal);
    peer_->LogRefusal(of, refusal);
  }
  if (id_hex.empty()) return peer_->Say(RelayVerb::kNotice, NoticeMessage(refusal));
  peer_->Say(RelayVerb::kOk, OkMessage(id_hex, refusal.empty(), refusal));
}

void Client::OnLastText(std::function<void()> done) {
  last_text_done_ = std::move(done);
  GoOnWhenIdle();
}

// Answers every event that has arrived with an OK, but sends no CLOSED for subscriptions: a client would take a CLOSED
// as final, and not subscribe again when it reconnects.
void Client::OnShutdown(std::function<void()> done) {
  shutting_down_ = true;
  shutdown_done_ = std::move(done);
  GoOnWhenIdle();
}

// Calls the `done` of OnLastText and OnShutdown once every EVENT and AUTH that has arrived is answered. Does not wait
// for REQs and COUNTs.
void Client::GoOnWhenIdle() {
  if (verifies_auth_ || (!last_text_done_ && !shutdown_done_)) return;
  window_->WhenIdle([self = shared_from_this()] {
    for (std::function<void()>* done : {&self->last_text_done_, &self->shutdown_done_})
      if (*done) std::exchange(*done, nullptr)();
  });
}

void Client::OnGiveUp(std::string_view why) { requests_->CloseAll("rate-limited: " + std::string(why)); }

void Client::OnEnd(std::string_view) {
  peer_->End();
  window_->End();
  requests_->End();
  last_text_done_ = nullptr;
  shutdown_done_ = nullptr;
}

}  // namespace weir
