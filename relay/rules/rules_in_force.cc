#include "relay/rules/rules_in_force.h"

#include <optional>
#include <utility>

#include "relay/limiters/followed_rules.h"

namespace weir {

RulesInForce::RulesInForce() = default;
RulesInForce::~RulesInForce() { Stop(); }

Status RulesInForce::Open(const std::string& path, std::chrono::milliseconds interval) {
  if (path.empty()) return Status();
  // Finds the files of keys, so that the watch knows them before the reading that counts.
  if (Result<RulesRead> first = Read(path, nullptr); !first.ok()) return first.status();
  auto followed = std::make_unique<FollowedRules<RulesRead>>(
      FileWatch([this] { return Files(); }), interval,
      FollowedRules<RulesRead>::Steps{.limiter = "rules of the relay",
                                      .path = path,
                                      .read = [this, path](const RulesRead* running) { return Read(path, running); },
                                      .use =
                                          [this](const RulesRead& read) {
                                            Use(read.rules);
                                            return Status();
                                          },
                                      .note_again = on_read_});
  if (Status status = followed->Open(); !status.ok()) return status;
  followed_ = std::move(followed);
  return Status();
}

void RulesInForce::ReadSoon() {
  if (followed_ != nullptr) followed_->ReadSoon();
}

void RulesInForce::Stop() {
  if (followed_ != nullptr) followed_->Stop();
}

Result<RulesRead> RulesInForce::Read(const std::string& path, const RulesRead* running) {
  std::vector<std::string> files;
  Result<RulesRead> read = ReadRules(path, &files, running);
  const MutexLock lock(mutex_);
  files_ = std::move(files);
  return read;
}

std::vector<std::string> RulesInForce::Files() const {
  const MutexLock lock(mutex_);
  return files_;
}

void RulesInForce::Use(std::shared_ptr<const Rules> rules) {
  judges_writes_.store(rules->judges_writes(), std::memory_order_relaxed);
  judges_reads_.store(rules->judges_reads(), std::memory_order_relaxed);
  hides_.store(rules->hides(), std::memory_order_relaxed);
  searches_content_.store(rules->set().deny_write.words != nullptr, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  rules_.swap(rules);  // the lock is released before `rules`, which now has the old rules, is destroyed
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const Rules> RulesInForce::Now() const {
  const MutexLock lock(mutex_);
  return rules_;
}

Ruling RulesInForce::Counted(Ruling ruling, Counts* counts) {
  if (ruling.refused()) (*counts)[static_cast<size_t>(*ruling.refused_by)].fetch_add(1, std::memory_order_relaxed);
  return ruling;
}

RuleClient RulesInForce::WithDecisions(EventView event, const RuleClient& sender) const {
  RuleClient client = sender;
  client.is_allowed = decided_.IsAllowed(event, sender);
  return client;
}

RuleLimits RulesInForce::limits() const {
  RuleLimits limits = Now()->limits();
  limits.restricts_writes = limits.restricts_writes || decided_.restricts_writes();
  return limits;
}

Ruling RulesInForce::JudgeEvent(EventView event, const RuleClient& sender, uint64_t now_seconds) {
  Ruling decided = decided_.JudgeEvent(event, sender);
  if (decided.refused()) return Counted(std::move(decided), &refused_events_);
  if (!judges_writes_.load(std::memory_order_relaxed)) return {};
  return Counted(Now()->JudgeEvent(event, WithDecisions(event, sender), now_seconds), &refused_events_);
}

std::unique_ptr<WordSearch> RulesInForce::SearchWords(EventView event, const RuleClient& sender) const {
  return searches_content() ? Now()->SearchWords(event, sender) : nullptr;
}

Ruling RulesInForce::TakeRates(EventView event, const RuleClient& sender, TimePoint now) {
  if (!judges_writes_.load(std::memory_order_relaxed)) return {};
  return Counted(Now()->TakeRates(event, WithDecisions(event, sender), now), &refused_events_);
}

Ruling RulesInForce::JudgeRead(std::span<const Filter> filters, const RuleClient& reader) {
  Ruling decided = decided_.JudgeRead(reader);
  if (decided.refused()) return Counted(std::move(decided), &refused_requests_);
  if (!judges_reads_.load(std::memory_order_relaxed)) return {};
  return Counted(Now()->JudgeRead(filters, reader), &refused_requests_);
}

RulesInForce::Refusals RulesInForce::RefusalsBy(RuleKind kind) const {
  const auto index = static_cast<size_t>(kind);
  return {refused_events_[index].load(std::memory_order_relaxed),
          refused_requests_[index].load(std::memory_order_relaxed)};
}

}  // namespace weir
