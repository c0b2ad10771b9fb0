// PostgresEdit: the StoreEdit (store_edit.h) of the store on PostgreSQL. An edit is one transaction. It reads the data
// that many events need with few requests to the server, and writes all changes together, as arrays.
//
// The edit does not lock the rows that it has read. Another relay may meanwhile save an event with the same id, or
// another version at the same address. Commit then fails and writes nothing, and MayTryAgain returns true; the caller
// must repeat all calls with a new edit.
//
// Commit does not notice that one relay saves an event while another saves the deletion of that event. So every edit
// locks the row of its own origin (serial.h) in weir_origins, and an edit with deletions or requests to vanish locks
// the rows of all origins (`alone`). Such an edit sees all events that other relays saved before, and later edits of
// other relays see its marks.
//
// Threads: only one thread at a time may use an edit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/wire/postgres/postgres_session.h"
#include "relay/store/event_store.h"
#include "relay/store/postgres/postgres_columns.h"
#include "relay/store/postgres/schema.h"
#include "relay/store/search/searched_events.h"
#include "relay/store/store_edit.h"
#include "relay/store/store_walk.h"

namespace weir {

class PostgresEdit final : public StoreEdit {
 public:
  // If `alone` is true, the edit locks the rows of all origins, so no other relay can save until the edit ends. Commit
  // then sends COMMIT even if there are no changes; as the locks are written to the log, it waits for the standbys.
  // `patience` is the longest wait for an answer from the server. If `searched` is not null, the edit also saves the
  // words of the events that it adds. `session` must be connected. `session`, `origin` and `searched` must outlive the
  // edit.
  PostgresEdit(PostgresSession& session, const PostgresOrigin& origin, bool alone, Duration patience,
               const SearchedEvents* searched = nullptr)
      : session_(session), origin_(origin), alone_(alone), patience_(patience), searched_(searched) {}

  // Runs a statement in the transaction and returns its rows. Begins the transaction if necessary.
  Result<PostgresRows> AskFirst(const PostgresStatement& statement, PostgresValues values);
  // Queues a statement that changes data, for Commit, which fails if it changes another number of rows than `rows`.
  void Change(const PostgresStatement& statement, PostgresValues values, std::optional<size_t> rows = std::nullopt);
  Status LookUp(std::span<const Event> events, std::span<const PublicKey> authors, std::vector<Known>* known,
                std::vector<std::optional<uint64_t>>* until) override;
  Result<std::optional<Handle>> Find(const EventId& id) override;
  Result<std::optional<Handle>> NewestOf(const Address& address) override;
  Result<std::optional<uint64_t>> DeletedUntil(const Address& address) override;
  Result<bool> RequestStays(const PublicKey& author, Handle request) override;
  Result<bool> Read(Handle handle, std::string* record) override;

  uint64_t TakeSerial() override { return ++last_serial_; }
  void Remove(Handle handle, EventView event) override;
  bool IsRemoved(Handle handle) const override { return stored_[handle].removed; }
  Work adding_work(EventView event) const override {
    return SavingWorkOf(event) + (searched_ == nullptr ? 0 : searched_->SavingWork(event));
  }
  Work removal_work() const override { return removal_work_; }

  void Add(EventView event, uint64_t serial) override;
  void MarkDeleted(const EventId& id, const PublicKey& author) override;
  void MarkDeleted(const Address& address, uint64_t until) override;
  void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) override;

  // Adds a mark that another store has (store_walk.h). If it is the mark of a vanished author, RemoveVanished later
  // removes the author's events from this store.
  void Copy(Shelf shelf, const ShelfEntry& mark);
  // Goes through rows with an id and a record, and removes the events for which `is_meant` returns true (all events if
  // it is empty). Skips damaged records, so it may remove none of the rows. Stops when the removals of this edit reach
  // the work `most`, but after at least one row. Returns the number of rows that it has gone through.
  size_t RemoveFound(const PostgresRows& ids_and_records, Work most,
                     const std::function<bool(EventView event)>& is_meant = {});
  void SetNote(const std::string& name, const std::string& text);
  // Puts or removes these memos (event_store.h).
  void WriteMemos(std::span<const Memo> changes);
  // Records that all events of `author` with a created_at up to `until` have been removed, as the author asked.
  void EndVanishing(const PublicKey& author, uint64_t until);

  // Writes all changes and commits the transaction. If there are no changes and the edit is not `alone`, only ends the
  // transaction. After an error nothing was written if has_written() is false. If it is true, COMMIT was sent: if no
  // answer came, the changes may be written; if the server did not wait for its standbys, they are written, but only on
  // the primary.
  Status Commit();
  // Ends the transaction without its changes, if it has begun. Closes the session if the server does not confirm that.
  void Rollback();
  // Returns true if the last error only shows that another relay changed the same data first, so that a new edit may
  // succeed.
  bool MayTryAgain() const;
  // Returns true if the last error says that the database has no partition for an event (schema.h).
  bool lacks_place() const;
  // Returns true if another process has taken the origin's name. Rollback resets it.
  bool name_is_taken() const { return !refused_.ok(); }
  // Returns true once COMMIT was sent.
  bool has_written() const { return has_written_; }

  // Return the number of events that the edit has removed (known after Commit) and added.
  uint64_t removed() const { return removed_; }
  uint64_t added() const { return added_.size(); }
  // Returns the last serial of the origin in the database when the transaction began.
  uint64_t serial_before() const { return serial_before_; }
  // Returns the last serial that this edit has assigned; if it has assigned none, that of the origin.
  uint64_t last_serial() const { return last_serial_; }

 private:
  // An event that was stored before this edit. Its handle is its index in stored_.
  struct Stored {
    EventId id;
    bool is_wanted = false;             // its record will probably be needed
    bool removed = false;               // this edit removes it
    std::optional<std::string> record;  // null until it is read; empty if the event is gone
  };
  struct AddressState {
    bool looked_up = false;
    std::optional<Handle> newest;  // the newest version before this edit
    std::optional<uint64_t> deleted_until;
    std::optional<EventId> next;  // the newest version after this edit, if the edit adds it
    bool changes = false;         // the edit changes the row of the address
  };
  struct BytesHash {
    template <size_t kBytes>
    size_t operator()(const std::array<uint8_t, kBytes>& bytes) const {
      size_t hash;
      std::memcpy(&hash, bytes.data(), sizeof(hash));
      return hash;
    }
  };
  using Take = std::function<void(PostgresRows& rows)>;
  // Queues a statement. AskAll runs all queued statements and calls the `take` of each with its rows, in the order in
  // which they were queued.
  void Ask(const PostgresStatement& statement, PostgresValues values, Take take);
  Status AskAll();
  void AskBegin();
  void AskIds(const std::vector<EventId>& ids);
  void AskEvents(std::span<const Event> events);
  Take TakeIds();
  void AskAddresses(const std::vector<Address>& addresses);
  // Looks up `id` and `address`, each of which may be null. Together with them looks up the next targets of the
  // deletions that are to be saved.
  Status LookUpTargets(const EventId* id, const Address* address);
  Handle HandleOf(const EventId& id, bool is_wanted);
  void WriteAddresses();
  void WriteMarks();
  void WriteRemovals();
  void WriteEvents();
  // Returns a Take that sets conflict_ if the statement changed another number of rows than `rows`, which means that
  // another relay was faster.
  Take Expect(size_t rows);

  PostgresSession& session_;
  const PostgresOrigin& origin_;
  const bool alone_;
  const Duration patience_;
  const SearchedEvents* const searched_;  // null if the edit saves no words
  bool begun_ = false;                    // the transaction has begun and not ended
  bool conflict_ = false;                 // another relay was faster
  bool has_written_ = false;
  Status refused_;  // an error if another process has taken the origin's name
  uint64_t serial_before_ = 0;
  uint64_t last_serial_ = 0;
  std::vector<Take> takes_;  // one for each queued statement

  std::vector<Stored> stored_;
  std::unordered_map<EventId, Handle, BytesHash> handles_;
  std::unordered_map<EventId, std::optional<Handle>, BytesHash> ids_;  // ids that were looked up; null: not stored
  std::unordered_map<Address, AddressState, BytesHash> addresses_;
  // The last request to vanish of each author whose events are not all removed yet.
  std::unordered_map<PublicKey, EventId, BytesHash> owed_requests_;
  std::deque<EventView> deletions_;  // deletions whose targets are not all looked up
  size_t next_target_ = 0;           // index of the next tag to look up in the first of deletions_

  Work removal_work_ = 0;
  uint64_t removed_ = 0;
  std::vector<std::pair<EventView, uint64_t>> added_;  // the events to be added, with their serials
  TagRows removed_tags_;
  std::map<EventId, uint64_t> removed_events_;  // with their created_at, in the order in which all edits lock them
  PostgresArray deleted_ids_{PostgresArray::Type::kBytes};
  PostgresArray deleted_by_{PostgresArray::Type::kBytes};
  PostgresArray deleted_addresses_{PostgresArray::Type::kBytes};
  PostgresArray deleted_until_{PostgresArray::Type::kInt64};
  // For each author: the created_at up to which events vanish, and the request.
  std::unordered_map<PublicKey, std::pair<uint64_t, EventId>, BytesHash> vanishing_;
  PostgresArray vanished_{PostgresArray::Type::kBytes};
  PostgresArray vanished_until_{PostgresArray::Type::kInt64};
};

}  // namespace weir
