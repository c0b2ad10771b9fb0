// PostgresEdit: the edit on PostgreSQL, which is one transaction. It asks at once for everything that many events need,
// and writes all changes at once, as arrays.
//
// It trusts what it has read, and notices when it writes if another relay was faster: with an event of the same id, or
// another version of an address. Then nothing is written, and everything has to be done again (MayTryAgain).
//
// It would not notice if one relay saved an event while another saved its deletion. So every edit locks its own origin,
// and one with deletions locks all: it sees what the others saved before, and they see its marks.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "monitors/postgres/postgres_session.h"
#include "relay/store/event_store.h"
#include "relay/store/postgres/postgres_columns.h"
#include "relay/store/postgres/schema.h"
#include "relay/store/store_edit.h"
#include "relay/store/store_walk.h"

namespace weir {

class PostgresEdit final : public StoreEdit {
 public:
  // `alone`: no other relay may save meanwhile.
  PostgresEdit(PostgresSession& session, const PostgresOrigin& origin, bool alone, Duration patience)
      : session_(session), origin_(origin), alone_(alone), patience_(patience) {}

  // Returns what this statement finds, in the transaction.
  Result<PostgresRows> AskFirst(const PostgresStatement& statement, PostgresValues values);
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
  Work removal_work() const override { return removal_work_; }

  void Add(EventView event, uint64_t serial) override;
  void MarkDeleted(const EventId& id, const PublicKey& author) override;
  void MarkDeleted(const Address& address, uint64_t until) override;
  void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) override;

  // Copies a mark of another store, where the events of vanished authors are gone already.
  void Copy(Shelf shelf, const ShelfEntry& mark);
  // Removes those of these events that are meant, as many as `most` allows, but at least one. Returns how many it has
  // looked at.
  size_t RemoveFound(const PostgresRows& ids_and_records, Work most,
                     const std::function<bool(EventView event)>& is_meant = {});
  void SetNote(const std::string& name, const std::string& text);
  // Notes that nothing is owed any more to the author who vanished until then.
  void EndVanishing(const PublicKey& author, uint64_t until);

  // Writes all changes; only ends the transaction if there are none. After an error nothing is written, unless the
  // connection was lost on the way: then it may be.
  Status Commit();
  void Rollback();
  bool MayTryAgain() const;
  // True once COMMIT was sent: if the connection was lost, it may have been done.
  bool has_written() const { return has_written_; }

  uint64_t removed() const { return removed_; }
  uint64_t added() const { return added_.size(); }
  uint64_t serial_before() const { return serial_before_; }
  uint64_t last_serial() const { return last_serial_; }

 private:
  // An event that was stored before.
  struct Stored {
    EventId id;
    bool is_wanted = false;  // its record may be asked for
    bool removed = false;
    std::optional<std::string> record;  // once it was read; empty: the event is gone
  };
  struct AddressState {
    bool looked_up = false;
    std::optional<Handle> newest;
    std::optional<uint64_t> deleted_until;
    std::optional<EventId> next;  // its version after this edit
    bool changes = false;
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
  // Queues a question; `take` gets the answer. Answers are taken in the order of the questions.
  void Ask(const PostgresStatement& statement, PostgresValues values, Take take);
  Status AskAll();
  void AskBegin();
  void AskIds(const std::vector<EventId>& ids);
  void AskAddresses(const std::vector<Address>& addresses);
  // Looks up `id` and `address`, which may be null, and targets of the waiting deletions from where the last call
  // ended.
  Status LookUpTargets(const EventId* id, const Address* address);
  Handle HandleOf(const EventId& id, bool is_wanted);
  void WriteAddresses();
  void WriteMarks();
  void WriteRemovals();
  void WriteEvents();
  // Returns a Take that notes a conflict unless this many rows changed: then another relay was faster.
  Take Expect(size_t rows);

  PostgresSession& session_;
  const PostgresOrigin& origin_;
  const bool alone_;
  const Duration patience_;
  bool begun_ = false;
  bool conflict_ = false;
  bool has_written_ = false;
  Status refused_;  // set if an answer forbids the edit
  uint64_t serial_before_ = 0;
  uint64_t last_serial_ = 0;
  std::vector<Take> takes_;

  std::vector<Stored> stored_;
  std::unordered_map<EventId, Handle, BytesHash> handles_;
  std::unordered_map<EventId, std::optional<Handle>, BytesHash> ids_;  // the ids that were looked up
  std::unordered_map<Address, AddressState, BytesHash> addresses_;
  std::unordered_map<PublicKey, EventId, BytesHash> owed_requests_;  // by author that vanishes at present
  std::deque<EventView> deletions_;                                  // deletions whose targets are not all looked up
  size_t next_target_ = 0;                                           // tag of the first of these, to look up next

  Work removal_work_ = 0;
  uint64_t removed_ = 0;
  std::vector<std::pair<EventView, uint64_t>> added_;  // with their serials
  TagRows removed_tags_;
  PostgresArray removed_ids_{PostgresArray::Type::kBytes};
  PostgresArray deleted_ids_{PostgresArray::Type::kBytes};
  PostgresArray deleted_by_{PostgresArray::Type::kBytes};
  PostgresArray deleted_addresses_{PostgresArray::Type::kBytes};
  PostgresArray deleted_until_{PostgresArray::Type::kInt64};
  std::unordered_map<PublicKey, std::pair<uint64_t, EventId>, BytesHash> vanishing_;  // until when, by which request
  PostgresArray vanished_{PostgresArray::Type::kBytes};
  PostgresArray vanished_until_{PostgresArray::Type::kInt64};
};

}  // namespace weir
