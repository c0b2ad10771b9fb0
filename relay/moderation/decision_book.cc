#include "relay/moderation/decision_book.h"

namespace weir {
namespace {

constexpr uint64_t kOverheadBytes = 300;  // memory of one decision, beside its texts
constexpr size_t kCopiedAtOnce = 1000;    // decisions, while the lists are locked

uint64_t BytesOf(const ModerationDecision& d) {
  return kOverheadBytes + 2 * d.subject.size() + d.reason.size() + d.detail.size() + d.by.size();
}

}  // namespace

void DecisionBook::Put(DecisionList list, const std::string& subject,
                       const std::optional<ModerationDecision>& decision) {
  const MutexLock lock(mutex_);
  Entries& entries = lists_[static_cast<size_t>(list)];
  if (const auto found = entries.by_subject.find(subject); found != entries.by_subject.end()) {
    entries.bytes -= BytesOf(found->second);
    entries.by_subject.erase(found);
  }
  if (!decision) return;
  entries.bytes += BytesOf(*decision);
  entries.by_subject.emplace(subject, *decision);
}

Status DecisionBook::CheckRoomFor(const DecisionChanges& changes) const {
  std::array<int64_t, kDecisionLists> more{};
  std::array<int64_t, kDecisionLists> more_bytes{};
  for (const auto& [place, decision] : changes) {
    const auto index = static_cast<size_t>(place.first);
    const std::optional<ModerationDecision> before = Find(place.first, place.second);
    more[index] += int64_t{decision.has_value()} - int64_t{before.has_value()};
    more_bytes[index] +=
        static_cast<int64_t>(decision ? BytesOf(*decision) : 0) - static_cast<int64_t>(before ? BytesOf(*before) : 0);
  }
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < kDecisionLists; ++i) {
    const size_t most = MostDecisionsOf(static_cast<DecisionList>(i));
    if (more[i] > 0 && lists_[i].by_subject.size() + static_cast<size_t>(more[i]) > most)
      return Status::Error("the list " + std::string(kDecisionListNames[i]) + " can have at most " +
                           std::to_string(most) + " decisions; take some out first");
    if (more_bytes[i] > 0 && lists_[i].bytes + static_cast<uint64_t>(more_bytes[i]) > kMostListBytes)
      return Status::Error("the list " + std::string(kDecisionListNames[i]) + " can take at most " +
                           std::to_string(kMostListBytes) + " bytes; take some decisions out first");
  }
  return {};
}

std::optional<ModerationDecision> DecisionBook::Find(DecisionList list, std::string_view subject) const {
  const MutexLock lock(mutex_);
  const auto found = In(list).by_subject.find(subject);
  return found == In(list).by_subject.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ModerationDecision> DecisionBook::List(DecisionList list, std::string_view after, size_t most) const {
  std::vector<ModerationDecision> decisions;
  const MutexLock lock(mutex_);
  const auto& entries = In(list).by_subject;
  for (auto at = after.empty() ? entries.begin() : entries.upper_bound(after); at != entries.end(); ++at) {
    if (decisions.size() == most) break;
    decisions.push_back(at->second);
  }
  return decisions;
}

void DecisionBook::Visit(DecisionList list,
                         const std::function<void(const ModerationDecision& decision)>& visit) const {
  std::vector<ModerationDecision> some;
  std::string after;
  do {
    some = List(list, after, kCopiedAtOnce);
    for (const ModerationDecision& decision : some) visit(decision);
    if (!some.empty()) after = some.back().subject;
  } while (some.size() == kCopiedAtOnce);
}

size_t DecisionBook::size(DecisionList list) const {
  const MutexLock lock(mutex_);
  return In(list).by_subject.size();
}

bool DecisionBook::IsAllowed(std::string_view key_hex) const {
  const MutexLock lock(mutex_);
  if (In(DecisionList::kAllowedAuthors).by_subject.contains(key_hex)) return true;
  const auto& members = In(DecisionList::kMembers).by_subject;
  const auto member = members.lower_bound(key_hex);
  return member != members.end() && KeyOfMember(member->first) == key_hex;
}

}  // namespace weir
