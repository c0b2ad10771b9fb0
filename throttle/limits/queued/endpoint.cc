#include "throttle/limits/queued/endpoint.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

using Scheduler = EndpointConfig::Scheduler;
using Algorithm = EndpointConfig::Algorithm;

// Converts seconds to a Duration, and limits them: no request waits for so long, and a longer wait might overflow.
Duration SecondsToWait(double seconds) {
  return FromSeconds(std::clamp<double>(seconds, 0, std::chrono::duration<double>(2 * kMaxEndpointTime).count()));
}

}  // namespace

Endpoint::Endpoint(EndpointSurroundings& surroundings, std::string path, std::shared_ptr<const EndpointConfig> config,
                   bool dynamic, TimePoint now)
    : surroundings_(surroundings),
      path_(std::make_shared<const std::string>(std::move(path))),
      config_(std::move(config)),
      allowance_(*config_, now),
      lines_{TicketLine(surroundings.tickets, 0, config_->scheduler),
             TicketLine(surroundings.tickets, 1, config_->scheduler),
             TicketLine(surroundings.tickets, kBlocked, Scheduler::kFifo)},
      last_used_(now),
      dynamic_(dynamic) {}

void Endpoint::Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller, TimePoint now) {
  last_used_ = now;
  Advance(now);
  if (somebody_waits()) Serve(now);

  // More than kMostWindowTokens do not fit into any window, so it does not matter how many more they are.
  const auto tokens = static_cast<uint32_t>(std::min<uint64_t>(request.tokens.value_or(0), kMostWindowTokens + 1));
  const uint32_t cost = CostOf(tokens);
  if (counts_tokens() && cost > config_->tokens_per_window)
    return AnswerRejected(*caller, QueuedCode::kTooLarge, {}, {}, now);

  // Requests that wait aside do not fit into this window, so a request that fits may pass before them.
  const bool is_next = queue().empty() && lines_[kBlocked].empty() && (counts_tokens() || aside().empty());
  if (is_next && allowance_.Holds(cost)) {
    allowance_.Take(cost, now);
    return AnswerServed(*caller, cost, {}, now);
  }
  const Duration timeout = request.timeout.value_or(config_->queue_timeout);
  const Duration wait = PredictedWait(cost, now);
  if ((request.timeout || timeout > Duration{}) && wait > timeout)
    return AnswerRejected(*caller, QueuedCode::kTooLongWait, {}, wait - timeout, now);
  const size_t most = config_->max_queue_size;
  const bool blocks = config_->overflow == EndpointConfig::Overflow::kBlock;
  if (queued() >= most && (!blocks || most == 0))
    return AnswerRejected(*caller, QueuedCode::kQueueFull, {}, UntilRoom(now), now);
  // The line outside the queue has no bound of its own. Of the limiter's places for waiting requests, it may take at
  // most as many as it leaves free for others.
  if (queued() >= most && lines_[kBlocked].size() >= surroundings_.waiting.left())
    return AnswerRejected(*caller, QueuedCode::kTooManyWaiting, {}, UntilRoom(now), now);
  if (!surroundings_.waiting.Take(1))
    return AnswerRejected(*caller, QueuedCode::kTooManyWaiting, {}, UntilRoom(now), now);
  Wait(request, tokens, caller, now);
  Serve(now);  // moves the request aside now if it does not fit, not only when the next request comes
}

void Endpoint::Wait(const QueuedRequest& request, uint32_t tokens, const std::shared_ptr<QueuedCaller>& caller,
                    TimePoint now) {
  if (!somebody_waits()) line_since_ = now;
  const uint32_t slot = surroundings_.tickets.Add({
      .caller = caller,
      .endpoint = this,
      .since = now,
      .tokens = tokens,
      .priority = std::clamp(request.priority, -kMostPriority, kMostPriority),
  });
  tokens_in_line_ += tokens;
  if (tokens == 0) ++without_tokens_;
  surroundings_.waited.Add(1);
  lines_[kBlocked].Join(slot);
  LetBlockedIn(now);
  caller->OnWaiting({surroundings_.shard, slot, surroundings_.tickets[slot].number});
}

void Endpoint::LetBlockedIn(TimePoint now) {
  TicketLine& blocked = lines_[kBlocked];
  // A queue of size 0 still takes one request at a time, because blocked requests are served through the queue.
  while (!blocked.empty() && queued() < std::max(1U, config_->max_queue_size)) {
    const uint32_t slot = blocked.Next();
    blocked.Leave(slot);
    queue().Join(slot);
    Tell(QueuedEvent::Kind::kQueued, now - surroundings_.tickets[slot].since, now);
  }
}

void Endpoint::Advance(TimePoint now) {
  if (allowance_.Advance(now)) BringBackThoseAside();
}

void Endpoint::BringBackThoseAside() {
  // Moves the tickets of the shorter line to the longer one. Mostly one line is empty. Both have the same scheduler.
  if (aside().size() > queue().size()) queue_ = 1 - queue_;
  while (!aside().empty()) {
    const uint32_t slot = aside().Next();
    aside().Leave(slot);
    queue().Join(slot);
  }
}

void Endpoint::Serve(TimePoint now) {
  Advance(now);
  for (size_t done = 0; done < kMostInGo && !queue().empty(); ++done) {
    if (counts_tokens() ? allowance_.left() == 0 : !allowance_.Holds(1)) break;
    const uint32_t slot = queue().Next();
    Ticket& ticket = surroundings_.tickets[slot];
    if (allowance_.Holds(CostOf(ticket.tokens))) {
      ServeTicket(slot, now);
    } else if (ticket.tokens > config_->tokens_per_window) {  // the configuration has reduced tokens_per_window
      RejectTicket(slot, QueuedCode::kTooLarge, now);
    } else {
      queue().Leave(slot);
      if (ticket.passed_over < TicketLine::kMostPassedOver) ++ticket.passed_over;
      aside().Join(slot);
    }
    LetBlockedIn(now);
  }
}

void Endpoint::ServeTicket(uint32_t slot, TimePoint now) {
  const Ticket ticket = TakeOut(slot);
  if (!StillWaits(ticket)) return;
  const uint32_t cost = CostOf(ticket.tokens);
  allowance_.Take(cost, line_since_);
  last_used_ = now;
  AnswerServed(*ticket.caller, cost, now - ticket.since, now);
}

void Endpoint::RejectTicket(uint32_t slot, QueuedCode code, TimePoint now) {
  const Ticket ticket = TakeOut(slot);
  if (StillWaits(ticket)) AnswerRejected(*ticket.caller, code, now - ticket.since, {}, now);
}

bool Endpoint::StillWaits(const Ticket& ticket) {
  if (ticket.caller->StillWaits()) return true;
  surroundings_.left.Add(1);
  return false;
}

Ticket Endpoint::TakeOut(uint32_t slot) {
  Ticket ticket = std::move(surroundings_.tickets[slot]);
  lines_[ticket.line].Leave(slot);
  tokens_in_line_ -= ticket.tokens;
  if (ticket.tokens == 0) --without_tokens_;
  surroundings_.tickets.Remove(slot);
  surroundings_.waiting.GiveBack(1);
  return ticket;
}

void Endpoint::Leave(uint32_t slot, TimePoint now) {
  TakeOut(slot);
  surroundings_.left.Add(1);
  // A blocked request may enter the queue, because a place is free now.
  LetBlockedIn(now);
  Serve(now);
}

void Endpoint::SetConfig(std::shared_ptr<const EndpointConfig> config, bool dynamic, TimePoint now) {
  dynamic_ = dynamic;
  if (config == config_) return;
  config_ = std::move(config);
  allowance_.Change(*config_, now);
  for (uint8_t line = 0; line < kBlocked; ++line) lines_[line].SetScheduler(config_->scheduler);
  BringBackThoseAside();
  LetBlockedIn(now);
  Serve(now);
}

void Endpoint::AnswerAll(QueuedCode code, TimePoint now) {
  for (TicketLine& line : lines_)
    while (!line.empty()) RejectTicket(line.Next(), code, now);
}

TimePoint Endpoint::NextServe(TimePoint now) const {
  const bool goes_on = !queue().empty() && (counts_tokens() ? allowance_.left() > 0 : allowance_.Holds(1));
  return goes_on ? now : allowance_.NextRoom();
}

bool Endpoint::CanEnd(TimePoint now) {
  Advance(now);
  return !somebody_waits() && allowance_.IsFresh();
}

Duration Endpoint::PredictedWait(uint32_t cost, TimePoint now) const {
  // A request that comes later may be served before this one, so no wait can be predicted.
  if (config_->scheduler == Scheduler::kLifo || config_->scheduler == Scheduler::kRandom) return {};
  const Duration until_room = allowance_.Holds(cost) ? Duration{} : UntilRoom(now);
  if (counts_tokens()) {
    const uint64_t costs = tokens_in_line_ + uint64_t{without_tokens_} * config_->default_tokens;
    const uint64_t windows = (costs + config_->tokens_per_window - 1) / config_->tokens_per_window;
    return std::max(until_room, SecondsToWait(static_cast<double>(windows) * ToSeconds(config_->window)));
  }
  const double at_once = config_->algorithm == Algorithm::kTokenBucket ? allowance_.left() : 0;
  return std::max(until_room, SecondsToWait((static_cast<double>(in_line()) - at_once) / config_->per_second()));
}

Duration Endpoint::UntilRoom(TimePoint now) const { return std::max(Duration{}, allowance_.NextRoom() - now); }

void Endpoint::AnswerServed(QueuedCaller& caller, uint32_t cost, Duration waited, TimePoint now) {
  ++served_;
  surroundings_.served.Add(1);
  Tell(QueuedEvent::Kind::kServed, waited, now);
  QueuedAnswer answer = AnswerOf(QueuedCode::kServed, now);
  answer.waited = waited;
  if (counts_tokens()) answer.tokens = cost;
  caller.OnAnswer(answer);
}

void Endpoint::AnswerRejected(QueuedCaller& caller, QueuedCode code, Duration waited, Duration retry_after,
                              TimePoint now) {
  ++rejected_;
  surroundings_.rejected.Add(1);
  Tell(QueuedEvent::Kind::kRejected, waited, now);
  QueuedAnswer answer = AnswerOf(code, now);
  answer.waited = waited;
  answer.retry_after = retry_after;
  caller.OnAnswer(answer);
}

QueuedAnswer Endpoint::AnswerOf(QueuedCode code, TimePoint now) const {
  return {
      .code = code,
      .endpoint = *path_,
      .config = config_.get(),
      .dynamic = dynamic_,
      .waiting = static_cast<uint32_t>(in_line()),
      .left = allowance_.left(),
      .until_room = UntilRoom(now),
  };
}

void Endpoint::Tell(QueuedEvent::Kind kind, Duration waited, TimePoint now) {
  if (surroundings_.events == nullptr) return;
  surroundings_.events->Push({kind, now, path_, waited, static_cast<uint32_t>(in_line())});
}

EndpointState Endpoint::State(TimePoint now) {
  Advance(now);
  return {
      .path = *path_,
      .config = config_,
      .dynamic = dynamic_,
      .queued = static_cast<uint32_t>(queued()),
      .blocked = static_cast<uint32_t>(lines_[kBlocked].size()),
      .left = allowance_.left(),
      .served = served_,
      .rejected = rejected_,
  };
}

}  // namespace weir
