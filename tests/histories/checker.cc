#include "tests/histories/checker.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace weir::histories {
namespace {

// The outcome of all attempts to publish an event.
struct Fate {
  Time sent = kNever;      // first
  Time accepted = kNever;  // the first OK true
  int relay = kAny;        // that gave this OK
  size_t attempts = 0;
  size_t refusals = 0;         // after which the event cannot be stored
  Time removal_sent = kNever;  // from now on it may be missing
  Time gone = kNever;          // from now on no REQ must find it, and no relay accept it
  int banned_by = kAny;        // the relay that confirmed its ban first
  Time banned = kNever;        // from now on this holds at that relay
  Time forgotten = kNever;     // from now on relays may save it anew: a ban and an expiration leave no mark
  bool is_refused() const { return attempts == refusals; }
};

// An allowance for the difference between the relays' clocks and the recorder's, when they are right.
constexpr Time kClockSlack = std::chrono::seconds(1);

bool IsNewer(const Published& a, const Published& b) {
  return a.created_at > b.created_at || (a.created_at == b.created_at && a.id < b.id);
}

class Trial {
 public:
  Trial(const History& history, Time patience) : history_(history), patience_(patience), fates_(history.events.size()) {
    IndexEvents();
    ReadAttempts();
    ReadRemovals();
    ReadBans();
  }

  Verdict Judge() {
    for (const Attempt& attempt : history_.attempts) JudgeAttempt(attempt);
    for (const Subscription& subscription : history_.subscriptions) JudgeSubscription(subscription);
    for (const std::string& id : history_.strangers) Add(Violation::kUnasked, id + " was published by no client");
    Compare();
    JudgeSerials();
    return std::move(verdict_);
  }

 private:
  void IndexEvents() {
    for (uint32_t number = 0; number < history_.events.size(); ++number) {
      const Published& event = history_.events[number];
      by_author_[event.author].push_back(number);
      by_topic_[event.topic].push_back(number);
      if (event.address != kAny) by_address_[event.address].push_back(number);
      if (event.expires != kNever) fates_[number].forgotten = event.expires - kClockSlack;
    }
  }

  void ReadAttempts() {
    for (const Attempt& attempt : history_.attempts) {
      Fate& fate = fates_[attempt.event];
      fate.sent = std::min(fate.sent, attempt.sent);
      ++fate.attempts;
      if (attempt.answered == kNever) continue;
      if (attempt.accepted && attempt.answered < fate.accepted) {
        fate.accepted = attempt.answered;
        fate.relay = attempt.relay;
      }
      if (!attempt.accepted && !attempt.in_doubt) ++fate.refusals;
    }
    for (const Fate& fate : fates_)
      ++(fate.accepted != kNever ? verdict_.acknowledged : fate.is_refused() ? verdict_.refused : verdict_.unanswered);
  }

  void ReadRemovals() {
    for (uint32_t number = 0; number < history_.events.size(); ++number) {
      const Published& event = history_.events[number];
      const Fate& fate = fates_[number];
      if (fate.is_refused()) continue;
      for (const uint32_t target : event.deletes) Remove(target, fate.sent, fate.accepted);
      if (event.deletes_address != kAny)
        for (const uint32_t target : by_address_[event.deletes_address])
          if (history_.events[target].created_at <= event.created_at) Remove(target, fate.sent, fate.accepted);
      if (event.kind != kVanishing) continue;
      const Time gone = fate.accepted == kNever ? kNever : Deadline(kAny, fate.accepted);
      for (const uint32_t target : by_author_[event.author])
        if (target != number && history_.events[target].created_at <= event.created_at) Remove(target, fate.sent, gone);
    }
  }
  void ReadBans() {
    for (const Ban& ban : history_.bans) {
      ++verdict_.bans;
      verdict_.confirmed_bans += ban.confirmed != kNever ? 1 : 0;
      if (ban.event) Forbid(*ban.event, ban);
      if (ban.event) continue;
      for (const uint32_t target : by_author_[ban.author]) Forbid(target, ban);
    }
  }
  void Forbid(uint32_t target, const Ban& ban) {
    Remove(target, ban.sent, ban.confirmed == kNever ? kNever : Deadline(kAny, ban.confirmed));
    Fate& fate = fates_[target];
    fate.forgotten = std::min(fate.forgotten, ban.sent);
    if (ban.confirmed >= fate.banned) return;
    fate.banned_by = ban.relay;
    fate.banned = ban.confirmed;
  }
  void Remove(uint32_t target, Time sent, Time gone) {
    Fate& fate = fates_[target];
    fate.removal_sent = std::min(fate.removal_sent, sent);
    fate.gone = std::min(fate.gone, gone);
  }

  // Returns how far the relay's clock was ahead of the right time, or behind it, at most, in this time.
  Time Ahead(int relay, Time from, Time to) const {
    Time most{};
    for (const MovedClock& clock : history_.clocks)
      if (clock.relay == relay && clock.begin <= to && clock.end >= from) most = std::max(most, clock.ahead);
    return most;
  }
  Time Behind(int relay, Time from, Time to) const {
    Time most{};
    for (const MovedClock& clock : history_.clocks)
      if (clock.relay == relay && clock.begin <= to && clock.end >= from) most = std::max(most, -clock.ahead);
    return most;
  }

  // Returns the time after which the relay must neither give nor accept the event, if its clock was as it was between
  // `from` and `to`.
  Time GoneAt(uint32_t event, int relay, Time from, Time to) const {
    const Fate& fate = fates_[event];
    Time gone = relay == fate.banned_by ? std::min(fate.gone, fate.banned) : fate.gone;
    if (const Time expires = history_.events[event].expires; expires != kNever)
      gone = std::min(gone, expires + kClockSlack + Behind(relay, from, to));
    return gone;
  }
  // Returns true if the relay may have taken the event for expired at this time, or have removed it for that before.
  bool MayHaveExpired(uint32_t event, int relay, Time at) const {
    const Time expires = history_.events[event].expires;
    return expires != kNever && at >= expires - kClockSlack - Ahead(relay, fates_[event].sent, at);
  }

  // Returns the time at which the patience that began at `from` is over; faults at the relay do not count.
  Time Deadline(int relay, Time from) const {
    Time end = from + patience_;
    const auto& faults = history_.faults;
    auto fault = std::lower_bound(faults.begin(), faults.end(), from,
                                  [](const Fault& before, Time at) { return before.end <= at; });
    for (; fault != faults.end() && fault->begin < end; ++fault)
      if (relay == kAny || fault->relay == kAny || fault->relay == relay)
        end += fault->end - std::max(fault->begin, from);
    return end;
  }

  void JudgeAttempt(const Attempt& attempt) {
    const Time gone = GoneAt(attempt.event, attempt.relay, attempt.sent, attempt.answered);
    if (!attempt.accepted || attempt.sent <= gone) return;
    Say(Violation::kUndone, attempt.event,
        "was gone at " + Shown(gone) + ", and relay " + std::to_string(attempt.relay) + " answered at " +
            Shown(attempt.answered) + " with OK true \"" + attempt.reason + "\"");
  }

  void JudgeSubscription(const Subscription& subscription) {
    verdict_.deliveries += subscription.received.size();
    verdict_.live += subscription.received.size() - subscription.stored;
    verdict_.complete += subscription.eose != kNever ? 1 : 0;
    const Time ended = std::min(subscription.ended, history_.end);
    std::unordered_map<uint32_t, size_t> times;
    for (const Received& received : subscription.received) {
      size_t& count = times[received.event];
      if (count == 0 || received.at < fates_[received.event].forgotten) ++count;
      JudgeReceived(subscription, received);
    }
    for (const auto& [event, count] : times)
      if (count > 1) Say(Violation::kTwice, event, "came " + std::to_string(count) + " times " + Shown(subscription));
    if (IsSilent(subscription, ended)) Add(Violation::kSilent, "no EOSE and no CLOSED " + Shown(subscription));
    std::unordered_set<uint32_t> stored;
    for (size_t n = 0; n < subscription.stored; ++n) stored.insert(subscription.received[n].event);
    std::unordered_set<int> between;
    for (const uint32_t event : Candidates(subscription.selection)) {
      if (!subscription.selection.Matches(history_.events[event]) || fates_[event].accepted == kNever) continue;
      const bool in_answer = MustBeStored(subscription, event);
      if (!in_answer && !MustComeLive(subscription, event, ended)) continue;
      ++verdict_.required;
      const bool is_missing = in_answer ? !HasVersion(event, stored) : times.count(event) == 0;
      if (is_missing && in_answer && IsBeingReplaced(event, subscription)) {
        between.insert(history_.events[event].address);
      } else if (is_missing) {
        Say(Violation::kLost, event, (in_answer ? "is not in the answer " : "did not come ") + Shown(subscription));
      }
    }
    verdict_.between_versions += between.size();
  }

  // Returns true if the client perhaps has not read all that the relay has sent.
  static bool MayBeBehind(const Subscription& subscription) {
    return subscription.slow && subscription.end != Subscription::End::kOpen;
  }

  bool IsSilent(const Subscription& subscription, Time ended) const {
    if (subscription.eose != kNever || MayBeBehind(subscription)) return false;
    return subscription.final || (subscription.end != Subscription::End::kByRelay &&
                                  Deadline(subscription.relay, subscription.sent) <= ended);
  }

  void JudgeReceived(const Subscription& subscription, const Received& received) {
    const Fate& fate = fates_[received.event];
    const auto say = [&](Violation violation, const std::string& why) {
      Say(violation, received.event, why + "came at " + Shown(received.at) + " " + Shown(subscription));
    };
    if (fate.is_refused()) say(Violation::kUnasked, "was refused, and ");
    if (!subscription.selection.Matches(history_.events[received.event]))
      say(Violation::kUnasked, "does not match, and ");
    const Time gone = GoneAt(received.event, subscription.relay, subscription.sent, received.at);
    if (subscription.sent > gone ||
        (!subscription.slow && gone < received.at && Deadline(subscription.relay, gone) < received.at))
      say(Violation::kUndone, "was gone at " + Shown(gone) + ", and ");
    if (history_.events[received.event].kind == kEphemeral && fate.relay != kAny && fate.relay != subscription.relay)
      ++verdict_.crossed;
  }

  const std::vector<uint32_t>& Candidates(const Selection& selection) {
    return selection.topic != kAny ? by_topic_[selection.topic] : by_author_[selection.author];
  }

  bool MustBeStored(const Subscription& subscription, uint32_t event) const {
    const Fate& fate = fates_[event];
    return subscription.eose != kNever && fate.accepted <= subscription.sent && fate.removal_sent > subscription.eose &&
           history_.events[event].kind != kEphemeral && !MayHaveExpired(event, subscription.relay, subscription.eose);
  }

  bool MustComeLive(const Subscription& subscription, uint32_t event, Time ended) {
    const Fate& fate = fates_[event];
    if (subscription.eose == kNever || subscription.end == Subscription::End::kByRelay) return false;
    if (MayBeBehind(subscription)) return false;
    if (fate.removal_sent < ended || IsReplaced(event, ended)) return false;
    if (history_.events[event].kind == kEphemeral &&
        (fate.relay != subscription.relay || fate.sent <= subscription.eose))
      return false;
    const Time late = Deadline(subscription.relay, std::max(fate.accepted, subscription.sent));
    return late <= ended && !MayHaveExpired(event, subscription.relay, late);
  }

  // Returns true if a newer version of the event meets the condition.
  template <typename Condition>
  bool HasNewer(uint32_t event, const Condition& condition) {
    const Published& old = history_.events[event];
    if (old.address == kAny) return false;
    const auto& versions = by_address_[old.address];
    return std::any_of(versions.begin(), versions.end(), [&](uint32_t version) {
      return !fates_[version].is_refused() && IsNewer(history_.events[version], old) && condition(version);
    });
  }
  bool IsReplaced(uint32_t event, Time until) {
    return HasNewer(event, [&](uint32_t version) { return fates_[version].sent < until; });
  }
  bool IsBeingReplaced(uint32_t event, const Subscription& subscription) {
    return HasNewer(event, [&](uint32_t version) {
      return fates_[version].sent < subscription.eose && fates_[version].accepted > subscription.sent;
    });
  }
  // Returns true if the event, or a newer version of it, is in the answer.
  bool HasVersion(uint32_t event, const std::unordered_set<uint32_t>& answer) {
    return answer.count(event) > 0 || HasNewer(event, [&](uint32_t version) { return answer.count(version) > 0; });
  }

  // Compares the answers that the relays gave in the end.
  void Compare() {
    std::map<Selection, std::pair<int, std::vector<uint32_t>>> first;
    for (const Subscription& subscription : history_.subscriptions) {
      if (!subscription.final || subscription.eose == kNever) continue;
      std::vector<uint32_t> answer;
      for (size_t n = 0; n < subscription.stored; ++n)
        if (const uint32_t event = subscription.received[n].event; history_.events[event].expires == kNever)
          answer.push_back(event);
      std::sort(answer.begin(), answer.end());
      const auto [known, is_first] = first.try_emplace(subscription.selection, subscription.relay, answer);
      if (!is_first && known->second.second != answer)
        Add(Violation::kDisagreed, "relay " + std::to_string(known->second.first) + " gave " +
                                       std::to_string(known->second.second.size()) + " other events than the " +
                                       std::to_string(answer.size()) + " " + Shown(subscription));
    }
  }

  void JudgeSerials() {
    std::map<std::pair<int, int64_t>, std::string> given;
    for (const Serial& serial : history_.serials) {
      const auto [known, is_first] = given.try_emplace({serial.origin, serial.number}, serial.id);
      if (!is_first && known->second != serial.id)
        Add(Violation::kReused, "serial " + std::to_string(serial.number) + " of origin " +
                                    std::to_string(serial.origin) + ": " + known->second + " and " + serial.id);
    }
  }

  void Say(Violation violation, uint32_t event, const std::string& what) {
    const Published& e = history_.events[event];
    Add(violation, e.id + " (kind " + std::to_string(e.kind) + ", sent " + Shown(fates_[event].sent) + ", OK " +
                       Shown(fates_[event].accepted) + " by relay " + std::to_string(fates_[event].relay) + ") " +
                       what);
  }
  void Add(Violation violation, const std::string& detail) {
    if (++verdict_.counts[static_cast<size_t>(violation)] <= Verdict::kMostDetails)
      verdict_.details.push_back(std::string(kViolationNames[static_cast<size_t>(violation)]) + ": " + detail);
  }

  static std::string Shown(Time time) {
    return time == kNever ? "never" : std::to_string(static_cast<double>(time.count()) / 1e6) + " s";
  }
  static std::string Shown(const Subscription& subscription) {
    constexpr std::array kEnds = {"open", "closed by its client", "closed by the relay", "disconnected"};
    const Selection& s = subscription.selection;
    return "to the REQ at relay " + std::to_string(subscription.relay) + " (author " + std::to_string(s.author) +
           ", kind " + std::to_string(s.kind) + ", topic " + std::to_string(s.topic) + ", sent " +
           Shown(subscription.sent) + ", EOSE " + Shown(subscription.eose) + ", ended " + Shown(subscription.ended) +
           ", " + kEnds[static_cast<size_t>(subscription.end)] + (subscription.slow ? ", slow)" : ")");
  }

  const History& history_;
  const Time patience_;
  std::vector<Fate> fates_;
  std::unordered_map<int, std::vector<uint32_t>> by_author_, by_topic_, by_address_;
  Verdict verdict_;
};

}  // namespace

Verdict Check(const History& history, Time patience) { return Trial(history, patience).Judge(); }

}  // namespace weir::histories
