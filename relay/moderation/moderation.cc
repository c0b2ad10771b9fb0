#include "relay/moderation/moderation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "config/text/hex.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "relay/moderation/decision_document.h"
#include "relay/nostr/npub.h"
#include "relay/rules/rules_in_force.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"

namespace weir {
namespace {

constexpr std::string_view kDecisionMemo = "decision/";
constexpr std::string_view kRemovalMemo = "removal/";
constexpr size_t kMostInWrite = 250;  // changes; the commit thread then does as much as in a write of events

std::string JsonOf(const ModerationDecision& decision) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  AppendDecision(decision, json);
  return std::move(json).Text();
}

// Splits "<prefix><list>/<subject>". Returns false if the name is another one.
bool SplitMemo(std::string_view name, std::string_view prefix, DecisionList* list, std::string* subject) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const size_t slash = name.find('/');
  const std::optional<DecisionList> known = DecisionListOf(name.substr(0, slash));
  if (slash == name.npos || !known) return false;
  *list = *known;
  *subject = name.substr(slash + 1);
  return true;
}

std::string MemoOf(DecisionList list, std::string_view subject) {
  return std::string(kDecisionMemo).append(NameOf(list)).append("/").append(subject);
}

void LogChange(DecisionList list, const std::string& subject, std::string_view by, const ModerationDecision* decision) {
  if (decision == nullptr)
    return spdlog::info("moderation: {} takes {} out of {}", Printable(by), Printable(subject), NameOf(list));
  spdlog::info("moderation: {} puts {} into {}{}{}", Printable(by), Printable(subject), NameOf(list),
               decision->reason.empty() ? "" : ": ", Printable(decision->reason));
}

}  // namespace

Moderation::Moderation(EventStore& store, GroupCommit& commit, RulesInForce& rules,
                       std::function<bool(const PublicKey& key)> is_administrator, const WallClock& clock)
    : store_(store),
      commit_(commit),
      rules_(rules),
      is_administrator_(std::move(is_administrator)),
      clock_(clock),
      removals_(store, clock) {}

Moderation::~Moderation() { Stop(); }

Status Moderation::Open() {
  {
    const MutexLock lock(change_mutex_);
    if (Status read = CatchUp(); !read.ok()) return read;
  }
  commit_.RemoveAlso([this](Work most) { return removals_.RemovePiece(most); });
  if (!store_.is_shared()) return {};
  return FaultsAsStatus([this] {
    follower_ = std::thread([this] { Follow(); });
    return Status();
  });
}

void Moderation::Stop() {
  {
    const MutexLock lock(stop_mutex_);
    stopping_ = true;
    stopped_.notify_all();
  }
  if (follower_.joinable()) follower_.join();
  commit_.RemoveAlso({});
}

void Moderation::Follow() {
  bool reads = true;
  for (;;) {
    {
      MutexLock lock(stop_mutex_);
      stopped_.wait_for(lock, kLookEvery, [this]() WEIR_REQUIRES(stop_mutex_) { return stopping_; });
      if (stopping_) return;
    }
    const Status read = FaultsAsStatus([this] {
      const MutexLock lock(change_mutex_);
      return CatchUp();
    });
    if (!read.ok() && reads)
      spdlog::warn("moderation: what other relays decide cannot be read: {}; tried again until it can", read.message());
    if (read.ok() && !reads) spdlog::info("moderation: what other relays decide is read again");
    reads = read.ok();
  }
}

// Reads the memos that have changed. Those of this relay are among them; putting them in force again changes nothing.
// After a failure it reads all memos: a standby that lacks the last writes may have become the primary, and then the
// next writes get revisions that this relay knows already.
Status Moderation::CatchUp() {
  Changes changes;
  const Result<uint64_t> revision = store_.ReadMemos(revision_, [&](const Memo& memo) {
    DecisionList list{};
    std::string subject;
    if (SplitMemo(memo.name, kRemovalMemo, &list, &subject)) {
      uint64_t banned_at = 0;
      if (!memo.text) return removals_.End(list, subject);
      std::from_chars(memo.text->data(), memo.text->data() + memo.text->size(), banned_at);
      return removals_.Resume(list, subject, banned_at);
    }
    if (!SplitMemo(memo.name, kDecisionMemo, &list, &subject)) return;
    if (!memo.text) {
      changes[{list, subject}] = std::nullopt;
      return;
    }
    Result<ModerationDecision> decision = ReadDecision(*memo.text);
    if (!decision.ok())
      return spdlog::warn("moderation: the stored decision {} is passed over: {}", Printable(memo.name),
                          decision.status().message());
    changes[{list, subject}] = std::move(decision).value();
  });
  revision_ = revision.ok() ? revision.value() : 0;
  if (!revision.ok()) return revision.status();
  PutInForce(changes);
  return {};
}

// Called before a change is planned, because another relay may just have decided about the same subject.
Status Moderation::CatchUpWithOthers() {
  const Status read = store_.is_shared() ? CatchUp() : Status();
  return read.ok() ? read : Status::Error("the decision cannot be stored: " + read.message());
}

Status Moderation::Decide(ModerationDecision decision) {
  Changes changes;
  const MutexLock lock(change_mutex_);
  Status done = CatchUpWithOthers();
  if (done.ok()) done = Plan(std::move(decision), &changes);
  if (done.ok()) done = Check(changes);
  if (done.ok()) done = Make(changes);
  if (!done.ok()) return done;
  std::string_view by;
  for (const auto& [place, made] : changes)
    if (made) by = made->by;
  for (const auto& [place, made] : changes) LogChange(place.first, place.second, by, made ? &*made : nullptr);
  return {};
}

Result<bool> Moderation::Revoke(DecisionList list, std::string_view subject, std::string_view by) {
  const Result<std::string> normal = SubjectFor(list, subject);
  if (!normal.ok()) return normal.status();
  const MutexLock lock(change_mutex_);
  if (Status read = CatchUpWithOthers(); !read.ok()) return read;
  if (!Has(list, normal.value(), {})) return false;
  Changes members;
  if (list == DecisionList::kRoles)
    book_.Visit(DecisionList::kMembers, [&](const ModerationDecision& member) {
      if (RoleOfMember(member.subject) == normal.value())
        members[{DecisionList::kMembers, member.subject}] = std::nullopt;
    });
  // The role goes last, so that it can be revoked again if the store fails before.
  for (const Changes& changes : {std::move(members), Changes{{{list, normal.value()}, std::nullopt}}}) {
    if (Status made = Make(changes); !made.ok()) return made;
    for (const auto& [place, decision] : changes) LogChange(place.first, place.second, by, nullptr);
  }
  return true;
}

Result<size_t> Moderation::Import(std::string_view json, std::string_view by) {
  Result<std::vector<ModerationDecision>> decisions = ReadDecisions(json);
  if (!decisions.ok()) return decisions.status();
  Changes changes;
  const MutexLock lock(change_mutex_);
  if (Status read = CatchUpWithOthers(); !read.ok()) return read;
  for (size_t i = 0; i < decisions.value().size(); ++i) {
    ModerationDecision& decision = decisions.value()[i];
    if (decision.by.empty()) decision.by = by;
    if (Status planned = Plan(std::move(decision), &changes); !planned.ok())
      return Status::Error("decisions[" + std::to_string(i) + "]: " + planned.message());
  }
  if (changes.empty()) return size_t{0};
  if (Status fits = Check(changes); !fits.ok()) return fits;
  if (Status made = Make(std::move(changes)); !made.ok()) {
    spdlog::warn("moderation: {} imports {} decisions, of which only some may hold: {}", Printable(by),
                 decisions.value().size(), made.message());
    return made;
  }
  spdlog::info("moderation: {} imports {} decisions", Printable(by), decisions.value().size());
  return decisions.value().size();
}

Status Moderation::Plan(ModerationDecision decision, Changes* changes) const {
  if (Status normal = Normalize(&decision); !normal.ok()) return normal;
  if (decision.at_seconds == 0) decision.at_seconds = clock_.NowSeconds();
  const DecisionList list = decision.list;
  const std::string subject = decision.subject;
  if (const std::optional<PublicKey> key = AuthorOf(decision);
      list == DecisionList::kBannedAuthors && key && is_administrator_(*key))
    return Status::Error(ToNpub(*key) +
                         " is an administrator of this relay and cannot be banned; remove the key from the "
                         "administrators first");
  (*changes)[{list, subject}] = std::move(decision);
  if (const std::optional<DecisionList> opposite = OppositeOf(list); opposite && Has(*opposite, subject, *changes))
    (*changes)[{*opposite, subject}] = std::nullopt;
  return {};
}

bool Moderation::Has(DecisionList list, const std::string& subject, const Changes& changes) const {
  const auto changed = changes.find({list, subject});
  return changed != changes.end() ? changed->second.has_value() : book_.Has(list, subject);
}

Status Moderation::Check(const Changes& changes) const {
  for (const auto& [place, decision] : changes) {
    const auto& [list, subject] = place;
    if (list == DecisionList::kMembers && decision &&
        !Has(DecisionList::kRoles, std::string(RoleOfMember(subject)), changes))
      return Status::Error("there is no role \"" + std::string(RoleOfMember(subject)) + "\"; create it first");
  }
  return book_.CheckRoomFor(changes);
}

// Makes the changes in several writes if they are many, so that clients' events do not wait for all of them. The
// allowed kinds are not divided, because the first half of them would refuse events of the others.
Status Moderation::Make(Changes changes) {
  while (!changes.empty()) {
    Changes some;
    const auto fits = [&some](DecisionList list) {
      return some.size() < kMostInWrite || list == DecisionList::kAllowedKinds;
    };
    while (!changes.empty() && fits(changes.begin()->first.first))
      some.insert(some.end(), changes.extract(changes.begin()));
    if (Status made = MakeInOneWrite(some); !made.ok()) return made;
  }
  return {};
}

// Begins and ends the removals on the commit thread, so that none of them ends between the write and its beginning.
Status Moderation::MakeInOneWrite(const Changes& changes) {
  const uint64_t now = clock_.NowSeconds();
  std::vector<Memo> memos;
  for (const auto& [place, decision] : changes) {
    const auto& [list, subject] = place;
    memos.push_back({MemoOf(list, subject), decision ? std::optional(JsonOf(*decision)) : std::nullopt});
    if (BanRemovals::Removes(list))
      memos.push_back(
          {BanRemovals::MemoOf(list, subject), decision ? std::optional(std::to_string(now)) : std::nullopt});
  }
  Status written = commit_.Perform([&]() -> Status {
    if (Status stored = store_.WriteMemos(memos); !stored.ok()) return stored;
    for (const auto& [place, decision] : changes) {
      if (!BanRemovals::Removes(place.first)) continue;
      decision ? removals_.Begin(place.first, place.second, now) : removals_.End(place.first, place.second);
    }
    return {};
  });
  if (!written.ok()) return Status::Error("the decision cannot be stored: " + written.message());
  PutInForce(changes);
  for (const auto& [place, decision] : changes) ++changes_made_[static_cast<size_t>(place.first)];
  return {};
}

void Moderation::PutInForce(const Changes& changes) {
  DecidedLists& decided = rules_.decided();
  bool short_changed = false;
  for (const auto& [place, decision] : changes) {
    const auto& [list, subject] = place;
    book_.Put(list, subject, decision);
    const auto set = [](SharedKeySet& keys, std::string_view hex, bool holds) {
      Bytes32 key{};
      if (FromHex(hex, key.data(), key.size())) holds ? keys.Add(key) : keys.Remove(key);
    };
    if (list == DecisionList::kBannedAuthors) set(decided.banned_authors, subject, decision.has_value());
    if (list == DecisionList::kBannedEvents) set(decided.banned_events, subject, decision.has_value());
    if (list == DecisionList::kAllowedAuthors || list == DecisionList::kMembers)
      set(decided.allowed_authors, KeyOfMember(subject), book_.IsAllowed(KeyOfMember(subject)));
    short_changed = short_changed || list == DecisionList::kAllowedKinds || list == DecisionList::kDisallowedKinds ||
                    list == DecisionList::kBlockedAddresses;
  }
  if (short_changed) PutShortListsInForce();
}

void Moderation::PutShortListsInForce() {
  DecidedLists::Short lists;
  const auto kinds = [this](DecisionList list) {
    KindSet set;
    book_.Visit(list, [&set](const ModerationDecision& decision) {
      const auto kind = static_cast<uint16_t>(std::stoul(decision.subject));
      set.Add(kind, kind);
    });
    return set;
  };
  lists.allowed_kinds = kinds(DecisionList::kAllowedKinds);
  lists.disallowed_kinds = kinds(DecisionList::kDisallowedKinds);
  std::vector<AddressRange> ranges;
  book_.Visit(DecisionList::kBlockedAddresses, [&ranges](const ModerationDecision& decision) {
    if (const Result<AddressRange> range = ParseNetwork(decision.subject); range.ok()) ranges.push_back(range.value());
  });
  lists.blocked_addresses = AddressSet(std::move(ranges));
  rules_.decided().Use(std::move(lists));
}

std::optional<ModerationDecision> Moderation::Find(DecisionList list, std::string_view subject) const {
  const Result<std::string> normal = SubjectFor(list, subject);
  return normal.ok() ? book_.Find(list, normal.value()) : std::nullopt;
}

std::optional<std::string> Moderation::Text(std::string_view name) const {
  const std::optional<ModerationDecision> text = book_.Find(DecisionList::kRelayTexts, name);
  return text ? std::optional(text->detail) : std::nullopt;
}

std::string Moderation::Export() const {
  const MutexLock lock(change_mutex_);
  return WriteDecisions(book_);
}

void Moderation::AppendMetrics(MetricFamilies& families) const {
  families.Gauge("weir_moderation_decisions", "Decisions of administrators that hold, by list");
  for (size_t i = 0; i < kDecisionLists; ++i)
    families.Add(uint64_t{size(static_cast<DecisionList>(i))}, {{"list", kDecisionListNames[i]}});
  families.Counter("weir_moderation_changes_total", "Changes of the lists of decisions that were made at this relay");
  for (size_t i = 0; i < kDecisionLists; ++i) families.Add(changes_made_[i].load(), {{"list", kDecisionListNames[i]}});
  families.Gauge("weir_moderation_removals", "Bans whose events are being removed");
  families.Add(uint64_t{removals_.going_on()});
  families.Counter("weir_moderation_removed_events_total", "Events that this relay has removed because of a ban");
  families.Add(removals_.removed());
}

}  // namespace weir
