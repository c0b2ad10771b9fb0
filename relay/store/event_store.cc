#include "relay/store/event_store.h"

#include <algorithm>

#include "relay/nostr/vanish.h"
#include "relay/store/cause.h"
#include "relay/store/keys.h"

namespace weir {
namespace {

// The most work of one write of Save or Delete. While they run, no other code saves, so this bounds only the memory of
// a write. No batch of an import reaches it.
constexpr Work kLargeWriteWork = 256 * kTurnWork;

constexpr uint64_t kSerialsOfGroup = 16;

}  // namespace

Result<OwedPiece> EventStore::RemoveAuthor(const PublicKey&, std::string*, Work) {
  return Status::Error("this store does not remove the events of an author");
}

Status EventStore::WriteMemos(std::span<const Memo>) { return Status::Error("this store keeps no memos"); }

Result<uint64_t> EventStore::ReadMemos(uint64_t, const std::function<void(const Memo& memo)>&) const {
  return Status::Error("this store keeps no memos");
}

void NoteSettled(std::span<SaveResult> results) {
  for (SaveResult& result : results) result.settled = true;
}

Status EventStore::Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results) {
  std::ranges::fill(results, SaveResult());
  const std::span<const SaveResult> all = results;
  while (!events.empty()) {
    const Result<size_t> settled = SaveSome(events, now_seconds, kLargeWriteWork, results);
    if (!settled.ok()) return settled.status();
    NoteSettled(results.first(settled.value()));
    events = events.subspan(settled.value());
    results = results.subspan(settled.value());
  }
  if (std::ranges::none_of(all, &SaveResult::vanishes)) return {};
  for (;;) {
    const Result<OwedPiece> done = RemoveVanished(kLargeWriteWork);
    if (!done.ok()) return done.status();
    if (!done.value().more) return {};
  }
}

Result<uint64_t> EventStore::Delete(std::span<const EventId> ids) {
  uint64_t removed = 0;
  while (!ids.empty()) {
    const Result<OwedPiece> piece = DeleteSome(&ids, kLargeWriteWork);
    if (!piece.ok()) return piece.status();
    removed += piece.value().removed;
  }
  return removed;
}

Result<std::vector<EventGroups>> EventStore::Groups(const Moment& moment) const {
  std::vector<EventGroups> groups;
  for (const Serial& last : moment.last()) {
    const auto read = [this, origin = last.origin](uint64_t group, uint64_t after,
                                                   const EventGroups::Visit& visit) -> Result<Work> {
      const uint64_t before = group * kSerialsOfGroup;
      Moment from;
      Moment until;
      from.Advance({origin, before + after});
      until.Advance({origin, before + kSerialsOfGroup});
      Status status = ScanAll(
          from, until, [&](Serial serial, EventView event) { return visit(serial.number - before, serial, event); });
      if (!status.ok()) return status;
      return kSeekWork;
    };
    groups.push_back({.count = (last.number + kSerialsOfGroup - 1) / kSerialsOfGroup, .read = read});
  }
  return groups;
}

Result<bool> EventStore::Has(const EventId& id) const {
  const Result<std::vector<bool>> stored = Stored({&id, 1});
  if (!stored.ok()) return stored.status();
  return stored.value().front();
}

Work SavingWorkOf(EventView event) {
  Work work = 5 * kEntryWork;
  Work of_a_tag = kEntryWork;
  if (event.kind() == kDeletionKind) of_a_tag += kSeekWork + kEntryWork;  // each target is looked up and marked
  for ([[maybe_unused]] const TagView tag : event.tags()) work += of_a_tag;
  // It is not known beforehand how many events an author has.
  return event.kind() == kVanishKind ? work + kTurnWork : work;
}

std::string ErrorForStrangers(const Status& status) {
  const std::string& message = status.message();
  if (message.starts_with("PostgreSQL: ")) return std::string(WordsOf(CauseOfError(status)).words);
  return message.substr(0, message.find(kForOperators));
}

}  // namespace weir
