#include "relay/moderation/moderation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "config/text/hex.h"
#include "config/text/json_scanner.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/nostr/npub.h"
#include "relay/rules/rules_in_force.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"

namespace weir {
namespace {

constexpr std::string_view kDecisionMemo = "decision/";
constexpr std::string_view kRemovalMemo = "removal/";
constexpr uint64_t kOverheadBytes = 300;  // memory of one decision, beside its texts
constexpr size_t kCopiedAtOnce = 1000;    // decisions, while the lists are locked
constexpr size_t kMostInWrite = 250;      // changes; the commit thread then does as much as in a write of events

uint64_t BytesOf(const ModerationDecision& d) {
  return kOverheadBytes + 2 * d.subject.size() + d.reason.size() + d.detail.size() + d.by.size();
}

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

std::string_view RoleOf(std::string_view member) { return member.substr(member.find(' ') + 1); }
std::string_view KeyOf(std::string_view member) { return member.substr(0, member.find(' ')); }

void LogChange(DecisionList list, const std::string& subject, std::string_view by, const ModerationDecision* decision) {
  if (decision == nullptr)
    return spdlog::info("moderation: {} takes {} out of {}", Printable(by), Printable(subject), NameOf(list));
  spdlog::info("moderation: {} puts {} into {}{}{}", Printable(by), Printable(subject), NameOf(list),
               decision->reason.empty() ? "" : ": ", Printable(decision->reason));
}

// Reads the decisions of a document, in their order.
Result<std::vector<ModerationDecision>> ReadDocument(std::string_view json) {
  if (json.size() > Moderation::kMostImportBytes)
    return Status::Error("the document has more than " + std::to_string(Moderation::kMostImportBytes) + " bytes");
  if (!IsUtf8(json)) return Status::Error("the document is not UTF-8");
  JsonScanner scanner(json);
  std::vector<ModerationDecision> decisions;
  uint64_t version = 0;
  bool first = true;
  scanner.Expect('{');
  while (scanner.error().empty() && scanner.NextItem('}', &first) == JsonScanner::Step::kItem) {
    JsonString name;
    if (!scanner.ReadName(&name)) break;
    if (name.raw == "weir_moderation") {
      if (!scanner.ReadWhole(&version)) return Status::Error("\"weir_moderation\" must be a number");
      continue;
    }
    if (name.raw != "decisions") return Status::Error("unknown field \"" + Printable(name.raw) + "\"");
    std::vector<std::string_view> items;
    if (!scanner.ReadList(&items)) break;
    for (const std::string_view item : items) {
      Result<ModerationDecision> decision = ReadDecision(item);
      if (!decision.ok())
        return Status::Error("decisions[" + std::to_string(decisions.size()) + "]: " + decision.status().message());
      decisions.push_back(std::move(decision).value());
    }
  }
  if (!scanner.error().empty()) return Status::Error("the document is wrong: " + scanner.error());
  if (!scanner.AtEnd()) return Status::Error("the document is wrong: there is text behind it");
  if (version != 1) return Status::Error("the document is not one of weir's: it must have \"weir_moderation\":1");
  return decisions;
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
    Visit(DecisionList::kMembers, [&](const ModerationDecision& member) {
      if (RoleOf(member.subject) == normal.value()) members[{DecisionList::kMembers, member.subject}] = std::nullopt;
    });
  // The role goes last, so that it can be revoked again if the store fails before.
  for (const Changes& changes : {std::move(members), Changes{{{list, normal.value()}, std::nullopt}}}) {
    if (Status made = Make(changes); !made.ok()) return made;
    for (const auto& [place, decision] : changes) LogChange(place.first, place.second, by, nullptr);
  }
  return true;
}

Result<size_t> Moderation::Import(std::string_view json, std::string_view by) {
  Result<std::vector<ModerationDecision>> decisions = ReadDocument(json);
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
  if (const auto changed = changes.find({list, subject}); changed != changes.end()) return changed->second.has_value();
  const MutexLock lock(mutex_);
  return In(list).by_subject.contains(subject);
}

Status Moderation::Check(const Changes& changes) const {
  std::array<int64_t, kDecisionLists> more{};
  std::array<int64_t, kDecisionLists> more_bytes{};
  for (const auto& [place, decision] : changes) {
    const auto& [list, subject] = place;
    if (list == DecisionList::kMembers && decision && !Has(DecisionList::kRoles, std::string(RoleOf(subject)), changes))
      return Status::Error("there is no role \"" + std::string(RoleOf(subject)) + "\"; create it first");
    const auto index = static_cast<size_t>(list);
    const std::optional<ModerationDecision> before = Find(list, subject);
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
    const MutexLock lock(mutex_);
    Entries& entries = lists_[static_cast<size_t>(list)];
    if (const auto found = entries.by_subject.find(subject); found != entries.by_subject.end()) {
      entries.bytes -= BytesOf(found->second);
      entries.by_subject.erase(found);
    }
    if (decision) {
      entries.bytes += BytesOf(*decision);
      entries.by_subject.emplace(subject, *decision);
    }
    const auto set = [&](SharedKeySet& keys, std::string_view hex, bool holds) {
      Bytes32 key{};
      if (FromHex(hex, key.data(), key.size())) holds ? keys.Add(key) : keys.Remove(key);
    };
    if (list == DecisionList::kBannedAuthors) set(decided.banned_authors, subject, decision.has_value());
    if (list == DecisionList::kBannedEvents) set(decided.banned_events, subject, decision.has_value());
    if (list == DecisionList::kAllowedAuthors || list == DecisionList::kMembers)
      set(decided.allowed_authors, KeyOf(subject), IsAllowed(KeyOf(subject)));
    short_changed = short_changed || list == DecisionList::kAllowedKinds || list == DecisionList::kDisallowedKinds ||
                    list == DecisionList::kBlockedAddresses;
  }
  if (short_changed) PutShortListsInForce();
}

bool Moderation::IsAllowed(std::string_view key_hex) const {
  if (In(DecisionList::kAllowedAuthors).by_subject.contains(key_hex)) return true;
  const auto& members = In(DecisionList::kMembers).by_subject;
  const auto member = members.lower_bound(key_hex);
  return member != members.end() && KeyOf(member->first) == key_hex;
}

void Moderation::PutShortListsInForce() {
  DecidedLists::Short lists;
  const auto kinds = [this](DecisionList list) WEIR_REQUIRES(change_mutex_) {
    KindSet set;
    Visit(list, [&set](const ModerationDecision& decision) {
      const auto kind = static_cast<uint16_t>(std::stoul(decision.subject));
      set.Add(kind, kind);
    });
    return set;
  };
  lists.allowed_kinds = kinds(DecisionList::kAllowedKinds);
  lists.disallowed_kinds = kinds(DecisionList::kDisallowedKinds);
  std::vector<AddressRange> ranges;
  Visit(DecisionList::kBlockedAddresses, [&ranges](const ModerationDecision& decision) {
    if (const Result<AddressRange> range = ParseNetwork(decision.subject); range.ok()) ranges.push_back(range.value());
  });
  lists.blocked_addresses = AddressSet(std::move(ranges));
  rules_.decided().Use(std::move(lists));
}

std::vector<ModerationDecision> Moderation::List(DecisionList list, std::string_view after, size_t most) const {
  std::vector<ModerationDecision> decisions;
  const MutexLock lock(mutex_);
  const auto& entries = In(list).by_subject;
  for (auto at = after.empty() ? entries.begin() : entries.upper_bound(after); at != entries.end(); ++at) {
    if (decisions.size() == most) break;
    decisions.push_back(at->second);
  }
  return decisions;
}

std::optional<ModerationDecision> Moderation::Find(DecisionList list, std::string_view subject) const {
  const Result<std::string> normal = SubjectFor(list, subject);
  if (!normal.ok()) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = In(list).by_subject.find(normal.value());
  return found == In(list).by_subject.end() ? std::nullopt : std::optional(found->second);
}

size_t Moderation::size(DecisionList list) const {
  const MutexLock lock(mutex_);
  return In(list).by_subject.size();
}

std::optional<std::string> Moderation::Text(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto& texts = In(DecisionList::kRelayTexts).by_subject;
  const auto found = texts.find(name);
  return found == texts.end() ? std::nullopt : std::optional(found->second.detail);
}

void Moderation::Visit(DecisionList list, const std::function<void(const ModerationDecision& decision)>& visit) const {
  std::vector<ModerationDecision> some;
  std::string after;
  do {
    some = List(list, after, kCopiedAtOnce);
    for (const ModerationDecision& decision : some) visit(decision);
    if (!some.empty()) after = some.back().subject;
  } while (some.size() == kCopiedAtOnce);
}

std::string Moderation::Export() const {
  const MutexLock lock(change_mutex_);
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("weir_moderation").Number(1);
  json.Member("decisions").Open('[');
  for (size_t i = 0; i < kDecisionLists; ++i)
    Visit(static_cast<DecisionList>(i),
          [&json](const ModerationDecision& decision) { AppendDecision(decision, json); });
  json.Close(']');
  json.Close('}');
  return std::move(json).Value();
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
