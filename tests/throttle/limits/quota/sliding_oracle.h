// SlidingOracle: computes the promises of the quota stores in a slow and simple way: it keeps a list of all charges to
// one model, and searches the whole list for every answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

// ListedWindow: the entries of a window, each with the reservation that may release it (0: none).
class ListedWindow {
 public:
  explicit ListedWindow(Duration window) : window_(window) {}

  // Entries that have left the window stay away, even if the clock steps back later.
  void SetTime(WallTime now) {
    std::erase_if(entries_, [&](const Entry& entry) { return now - entry.time >= window_; });
    for (Entry& entry : entries_) entry.time = std::min(entry.time, now);
  }
  void Add(WallTime now, int64_t amount, int hold = 0) { entries_.push_back({now, amount, hold}); }
  void GiveBack(int hold, int64_t amount) {
    for (Entry& entry : entries_)
      if (entry.hold == hold) entry.amount -= amount;
  }
  int64_t UsedAt(WallTime now) const {
    int64_t used = 0;
    for (const Entry& entry : entries_)
      if (now - entry.time < window_) used += entry.amount;
    return used;
  }
  // Returns the time until the amount fits; nullopt if it fits now.
  std::optional<Duration> UntilFits(WallTime now, int64_t amount, int64_t limit) const {
    if (amount == 0 || UsedAt(now) + amount <= limit) return {};
    std::vector<WallTime> leaving;
    for (const Entry& entry : entries_) leaving.push_back(entry.time + window_);
    std::ranges::sort(leaving);
    for (const WallTime time : leaving)
      if (time > now && UsedAt(time) + amount <= limit) return time - now;
    return Duration::max();
  }

 private:
  struct Entry {
    WallTime time;
    int64_t amount = 0;
    int hold = 0;
  };
  Duration window_;
  std::vector<Entry> entries_;
};

// ListedBucket: a bucket, represented by its debt. The debt is a whole number of parts, of which `per` make one unit.
// It is 0 at first.
//
// The bucket also computes its debt again, from the start, with only those amounts that were taken and not released.
// Its debt must not fall below this computed debt.
class ListedBucket {
 public:
  explicit ListedBucket(const Limit& limit) : limit_(limit) {}

  void SetTime(WallTime now) {
    const Duration passed = std::max(Duration(), now - time_);
    events_.push_back({.passed = passed, .rate = limit_.amount});
    debt_ = Paid(debt_, events_.back());
    if (now < time_) steady_ = false;
    time_ = now;
  }
  void Follow(const Limit& limit) {
    if (limit.amount != limit_.amount) steady_ = false;
    limit_ = limit;
  }
  void Take(int64_t amount, int hold) {
    events_.push_back({.taken = amount, .hold = hold});
    debt_ += Parts(amount);
  }
  // Releases at most the part of the amount that the refill has not already paid since the reservation was made.
  void GiveBack(int hold, int64_t amount, int64_t reserved, Duration since) {
    for (Event& event : events_)
      if (event.hold == hold && event.taken > 0) event.taken -= amount;
    const auto paid = static_cast<int64_t>(__int128(since.count()) * limit_.amount / limit_.per.count());
    debt_ = std::max<__int128>(0, debt_ - Parts(std::min(amount, std::max<int64_t>(0, reserved - paid))));
  }

  int64_t lacks() const { return static_cast<int64_t>((debt_ + limit_.per.count() - 1) / limit_.per.count()); }
  std::optional<Duration> UntilFits(int64_t amount) const {
    const __int128 missing = debt_ + Parts(amount) - Parts(limit_.burst);
    if (amount == 0 || missing <= 0) return {};
    return Duration(static_cast<int64_t>((missing + limit_.amount - 1) / limit_.amount));
  }
  // Returns false if the debt is lower than the computed debt by a whole unit or more; a smaller part may be released
  // although it was paid. Returns true once the clock has stepped back or the rate has changed: the store then does not
  // know the earlier refill, and computes with the present values.
  bool GivesNothingTwice() const {
    __int128 debt = 0;
    for (const Event& event : events_) debt = Paid(debt, event) + Parts(event.taken);
    return !steady_ || debt_ + Parts(1) > debt;
  }

 private:
  // First the time of the event passes, then its amount is taken.
  struct Event {
    Duration passed{};
    int64_t rate = 0;
    int64_t taken = 0;
    int hold = 0;
  };

  __int128 Parts(int64_t amount) const { return __int128(amount) * limit_.per.count(); }
  static __int128 Paid(__int128 debt, const Event& event) {
    return std::max<__int128>(0, debt - __int128(event.passed.count()) * event.rate);
  }

  Limit limit_;
  __int128 debt_ = 0;
  WallTime time_{};
  bool steady_ = true;  // until the clock steps back or the rate changes
  std::vector<Event> events_;
};

// ListedPeriods: the days or months of a limit, identified by their ends.
class ListedPeriods {
 public:
  void Add(Duration ends, int64_t amount, int hold = 0) { entries_.push_back({ends, amount, hold}); }
  void GiveBack(int hold, int64_t amount) {
    for (Entry& entry : entries_)
      if (entry.hold == hold) entry.amount -= amount;
  }
  int64_t UsedIn(Duration ends) const {
    int64_t used = 0;
    for (const Entry& entry : entries_)
      if (entry.ends == ends) used += entry.amount;
    return used;
  }

 private:
  struct Entry {
    Duration ends{};
    int64_t amount = 0;
    int hold = 0;
  };
  std::vector<Entry> entries_;
};

// The price of tokens in the tests. More tokens do not always cost more.
inline int64_t ListedCost(int64_t tokens) { return 3 * tokens + tokens % 7; }

// SlidingOracle: one model with its tiers.
class SlidingOracle {
 public:
  struct Answer {
    QuotaCode code = QuotaCode::kOk;
    std::optional<size_t> tier;  // index in Plan::meters
    std::optional<Duration> retry_after;
  };
  // The limits that a charge counts against, in order, and the number of limits before those of the model.
  struct Plan {
    std::vector<size_t> meters;
    size_t before_model = 0;
    Duration period_ends{};  // end of the period in which calendar limits are charged and settled
  };

  SlidingOracle(const ModelQuota& quota, const std::vector<Limit>& limits, WallTime now) : quota_(quota) {
    for (const Limit& limit : limits) meters_.push_back({limit, ListedWindow(limit.per), ListedBucket(limit), {}});
    SetTime(now);
  }

  void SetTime(WallTime now) {
    requests_.SetTime(now);
    tokens_.SetTime(now);
    for (Meter& meter : meters_) {
      meter.window.SetTime(now);
      meter.bucket.SetTime(now);
    }
    for (auto& [id, hold] : holds_) hold.made = std::min(hold.made, now);
    now_ = now;
    std::vector<int> expired;
    for (const auto& [id, hold] : holds_)
      if (hold.made + hold.hold_for <= now) expired.push_back(id);
    for (const int id : expired) Expire(id);
    for (auto& [id, end] : ended_) end.perhaps_forgotten = end.perhaps_forgotten || end.kept_until <= now;
    day_start_ = std::min(day_start_, now);
    if (now - day_start_ >= kDay) day_.clear();
  }

  Answer Ask(int64_t tokens, const Plan& plan, bool holds) const {
    Answer answer;
    const Amounts amounts = Asked(tokens, holds);
    for (size_t i = 0; i < plan.before_model; ++i) AskMeter(i, plan.meters[i], amounts, &answer);
    AskModel(tokens, &answer);
    for (size_t i = plan.before_model; i < plan.meters.size(); ++i) AskMeter(i, plan.meters[i], amounts, &answer);
    if (answer.code == QuotaCode::kOk && quota_.unlimited()) answer.code = QuotaCode::kUnlimited;
    return answer;
  }

  void Charge(int64_t tokens, const Plan& plan, int hold = 0, Duration hold_for = {}) {
    const Amounts amounts = Asked(tokens, hold != 0);
    ChargeAll(amounts, plan, hold);
    if (hold != 0) holds_[hold] = {.made = now_, .hold_for = hold_for, .charged = amounts, .plan = plan};
  }

  // Marks a reservation as named. A caller may request it again, so the store keeps it for longer.
  void Name(int id) { holds_.at(id).named = true; }

  // The answer to a commit or refund. If a reservation has expired and the clock then steps back, some stores have
  // removed the reservation and others have not.
  struct Settled {
    SettlementAnswer::Code code = SettlementAnswer::Code::kSettled;
    bool late = false;
    bool again = false;
  };
  bool MayBeForgotten(int id) const {
    const auto end = ended_.find(id);
    return end != ended_.end() && end->second.perhaps_forgotten;
  }
  Settled Settle(int id, std::optional<int64_t> tokens) {
    using enum SettlementAnswer::Code;
    if (const auto open = holds_.find(id); open != holds_.end()) {
      const bool named = open->second.named;
      const int64_t used = End(id, tokens);
      ended_[id] = {.expired = false,
                    .named = named,
                    .refunded = !tokens,
                    .used = {.tokens = used},
                    .kept_until = KeptFromNow(named)};
      return {};
    }
    const auto found = ended_.find(id);
    if (found == ended_.end() || found->second.kept_until <= now_) return {.code = kUnknown};
    Ended& end = found->second;
    if (!end.expired) {
      const bool again = end.refunded ? !tokens : tokens == end.used.tokens;
      return {.code = again ? kSettled : kSettledOtherwise, .late = end.late, .again = again};
    }
    const Amounts asked = Asked(tokens.value_or(0), false);
    const Amounts more = {.requests = end.used == Amounts() ? 1 : 0,
                          .tokens = std::max<int64_t>(0, asked.tokens - end.used.tokens),
                          .money = std::max<int64_t>(0, asked.money - end.used.money)};
    if (tokens) ChargeAll(more, end.plan, 0);
    end = {.expired = false,
           .named = end.named,
           .late = true,
           .refunded = !tokens,
           .used = {.tokens = std::max(asked.tokens, end.used.tokens)},
           .kept_until = KeptFromNow(end.named)};
    return {.late = true};
  }
  // Extends a reservation. `tokens` is the usage so far.
  SettlementAnswer::Code Extend(int id, Duration by, std::optional<int64_t> tokens) {
    using enum SettlementAnswer::Code;
    if (const auto open = holds_.find(id); open != holds_.end()) {
      if (tokens) NoteUse(open->second, Asked(*tokens, false));
      open->second.hold_for = std::max(open->second.hold_for, now_ + by - open->second.made);
      return kSettled;
    }
    const auto found = ended_.find(id);
    if (found == ended_.end() || found->second.kept_until <= now_) return kUnknown;
    return found->second.expired ? kExpired : kSettledOtherwise;
  }

  // Returns true if a second request for the same named reservation returns this one.
  bool IsMade(int id) const {
    if (holds_.contains(id)) return true;
    const auto end = ended_.find(id);
    return end != ended_.end() && end->second.kept_until > now_ &&
           !(end->second.refunded && end->second.used == Amounts());
  }

  // Replaces a limit from now on. The new limit has the same MeterName, or is for another period.
  void Follow(size_t meter, const Limit& limit) {
    meters_[meter].limit = limit;
    if (!IsOfCalendar(limit)) meters_[meter].bucket.Follow(limit);
  }
  bool GivesNothingTwice() const {
    return std::ranges::all_of(
        meters_, [](const Meter& meter) { return IsOfCalendar(meter.limit) || meter.bucket.GivesNothingTwice(); });
  }

  ModelUsage usage() const {
    return {.rpm = requests_.UsedAt(now_),
            .tpm = tokens_.UsedAt(now_),
            .rpd = static_cast<int64_t>(day_.size()),
            .day_start = day_.empty() ? WallTime() : day_start_,
            .open_reservations = static_cast<int64_t>(holds_.size())};
  }
  int64_t UsedOf(size_t meter) const {
    const Meter& of = meters_[meter];
    if (IsOfCalendar(of.limit)) return of.periods.UsedIn(of.limit.per);
    return of.limit.kind == Limit::Kind::kWindow ? of.window.UsedAt(now_) : of.bucket.lacks();
  }

 private:
  struct Meter {
    Limit limit;
    ListedWindow window;
    ListedBucket bucket;
    ListedPeriods periods;
  };
  struct Hold {
    WallTime made;
    Duration hold_for{};
    bool named = false;
    Amounts charged;
    Amounts used = {};
    Plan plan;
  };

  struct Ended {
    bool expired = true;
    bool named = false;
    bool late = false;
    bool refunded = false;
    Amounts used;
    WallTime kept_until;
    Plan plan = {};
    bool perhaps_forgotten = false;
  };

  WallTime KeptFromNow(bool named) const { return now_ + (named ? kExpiredKept : kSettledKept); }
  void Expire(int id) {
    const Hold hold = holds_.at(id);
    End(id, {});
    ended_[id] = {.named = hold.named,
                  .used = hold.used,
                  .kept_until = hold.made + hold.hold_for + kExpiredKept,
                  .plan = hold.plan};
  }
  // Ends a reservation. Returns the tokens that it used.
  int64_t End(int id, std::optional<int64_t> tokens) {
    Hold& hold = holds_.at(id);
    if (tokens) NoteUse(hold, Asked(*tokens, false));
    const bool was_made = tokens || hold.used != Amounts();
    const Amounts back = {.requests = was_made ? 0 : 1,
                          .tokens = std::max<int64_t>(0, hold.charged.tokens - hold.used.tokens),
                          .money = std::max<int64_t>(0, hold.charged.money - hold.used.money),
                          .calls = 1};
    tokens_.GiveBack(id, back.tokens);
    if (!was_made) {
      requests_.GiveBack(id, 1);
      std::erase(day_, id);
    }
    for (const size_t at : hold.plan.meters) {
      const Limit::Unit unit = meters_[at].limit.unit;
      meters_[at].periods.GiveBack(id, back.Of(unit));
      meters_[at].window.GiveBack(id, back.Of(unit));
      if (!IsOfCalendar(meters_[at].limit))
        meters_[at].bucket.GiveBack(id, back.Of(unit), hold.charged.Of(unit), now_ - hold.made);
    }
    const int64_t used = hold.used.tokens;
    holds_.erase(id);
    return used;
  }
  // Records the usage. `used` is the total so far; the amount above the reservation is charged.
  void NoteUse(Hold& hold, const Amounts& used) {
    const auto counts = [&](int64_t Amounts::*of) { return std::max(hold.charged.*of, hold.used.*of); };
    const Amounts before = {.tokens = counts(&Amounts::tokens), .money = counts(&Amounts::money)};
    hold.used.tokens = std::max(hold.used.tokens, used.tokens);
    hold.used.money = std::max(hold.used.money, used.money);
    const Amounts more = {.tokens = counts(&Amounts::tokens) - before.tokens,
                          .money = counts(&Amounts::money) - before.money};
    ChargeAll(more, hold.plan, 0);
  }
  static Amounts Asked(int64_t tokens, bool holds) {
    return {.requests = 1, .tokens = tokens, .money = ListedCost(tokens), .calls = holds ? 1 : 0};
  }
  static void Refuse(QuotaCode code, std::optional<size_t> tier, std::optional<Duration> wait, Answer* answer) {
    if (answer->code == QuotaCode::kTooLarge) return;
    if (answer->code == QuotaCode::kOk || code == QuotaCode::kTooLarge) {
      const std::optional<Duration> longest = code == QuotaCode::kTooLarge ? std::nullopt : wait;
      *answer = {code, tier, longest};
    } else {
      answer->retry_after = std::max(answer->retry_after, wait);
    }
  }
  void AskMeter(size_t tier, size_t meter, const Amounts& amounts, Answer* answer) const {
    const Meter& of = meters_[meter];
    const int64_t amount = amounts.Of(of.limit.unit);
    const int64_t most = of.limit.kind == Limit::Kind::kBucket ? of.limit.burst : of.limit.amount;
    if (amount > most) return Refuse(QuotaCode::kTooLarge, tier, {}, answer);
    if (IsOfCalendar(of.limit)) {
      if (amount > 0 && of.periods.UsedIn(of.limit.per) + amount > of.limit.amount)
        Refuse(QuotaCode::kTierExceeded, tier, EndOfPeriod(of.limit) - now_, answer);
      return;
    }
    const std::optional<Duration> wait = of.limit.kind == Limit::Kind::kWindow
                                             ? of.window.UntilFits(now_, amount, of.limit.amount)
                                             : of.bucket.UntilFits(amount);
    const bool of_calls = of.limit.unit == Limit::Unit::kCalls;
    if (wait) Refuse(QuotaCode::kTierExceeded, tier, of_calls ? kCallsPause : *wait, answer);
  }
  void AskModel(int64_t tokens, Answer* answer) const {
    if (quota_.max_tpm > 0 && tokens > quota_.max_tpm) return Refuse(QuotaCode::kTooLarge, {}, {}, answer);
    if (quota_.max_rpd > 0 && static_cast<int64_t>(day_.size()) >= quota_.max_rpd)
      Refuse(QuotaCode::kRpdExceeded, {}, day_start_ + kDay - now_, answer);
    if (quota_.max_rpm > 0)
      if (const auto wait = requests_.UntilFits(now_, 1, quota_.max_rpm))
        Refuse(QuotaCode::kRpmExceeded, {}, wait, answer);
    if (quota_.max_tpm > 0)
      if (const auto wait = tokens_.UntilFits(now_, tokens, quota_.max_tpm))
        Refuse(QuotaCode::kTpmExceeded, {}, wait, answer);
  }
  void ChargeAll(const Amounts& amounts, const Plan& plan, int hold) {
    tokens_.Add(now_, amounts.tokens, hold);
    for (const size_t meter : plan.meters) ChargeMeter(meter, amounts.Of(meters_[meter].limit.unit), hold, plan);
    if (amounts.requests == 0) return;
    requests_.Add(now_, amounts.requests, hold);
    if (day_.empty()) day_start_ = now_;
    day_.push_back(hold);
  }
  void ChargeMeter(size_t meter, int64_t amount, int hold, const Plan& plan) {
    if (amount == 0) return;
    if (IsOfCalendar(meters_[meter].limit)) return meters_[meter].periods.Add(plan.period_ends, amount, hold);
    meters_[meter].window.Add(now_, amount, hold);
    meters_[meter].bucket.Take(amount, hold);
  }

  ModelQuota quota_;
  WallTime now_{};
  ListedWindow requests_{kMinute};
  ListedWindow tokens_{kMinute};
  WallTime day_start_{};
  std::vector<int> day_;  // the reservation of each request
  std::vector<Meter> meters_;
  std::map<int, Hold> holds_;
  std::map<int, Ended> ended_;
};

}  // namespace weir
