#include "relay/store/store_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/nostr/signature.h"
#include "relay/nostr/vanish.h"
#include "relay/store/database.h"
#include "relay/store/engine_log.h"
#include "relay/store/keys.h"
#include "relay/store/removal.h"
#include "relay/store/search/search_index.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

constexpr std::string_view kEntryLetters = "iatkcdx";
// Stands in the check before the keys of the index of words, which is in a column family of its own.
constexpr char kWordLetter = 's';
constexpr std::string_view kMarkLetters = "ervw";
constexpr const char* kDamagedFile = "damaged file";

// The sum of all entries under a letter, whatever their order.
struct Sum {
  uint64_t entries = 0;
  uint64_t hashes = 0;

  void Add(std::string_view key, std::string_view value) {
    ++entries;
    // Not linear in key or value: otherwise swapped values would go unnoticed.
    uint64_t hash = std::hash<std::string_view>()(key) ^ std::rotl(std::hash<std::string_view>()(value), 32);
    hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15;
    hashes += hash ^ hash >> 32;
  }
  bool operator==(const Sum&) const = default;
};
using Sums = std::array<Sum, 128>;  // by letter

using Entries = std::vector<std::pair<std::string, std::string>>;

// Returns each entry once: two tags of an event may give the same entry.
Entries EntriesOf(EventView event, uint64_t serial) {
  Entries entries;
  ForEachEntry(event, serial, [&](std::string_view key, std::string_view value) { entries.emplace_back(key, value); });
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

// Returns null if key and value are too short for their letter.
std::optional<uint64_t> SerialOf(std::string_view key, std::string_view value) {
  const std::string_view holder = key[0] == 'i' || key[0] == 'd' ? value : key;
  if (holder.size() < 7) return std::nullopt;
  return ReadNumber(holder.data() + holder.size() - 6, 6);
}

class Checker {
 public:
  Checker(const RocksDbStore& store, const CheckOptions& options)
      : db_(*store.db()), loss_(store.loss()), options_(options), snapshot_(store.db()), parser_(AnySize()) {
    for (rocksdb::ColumnFamilyHandle* family : store.families()) {
      if (family->GetName() == kEventsFamily) events_ = family;
      if (family->GetName() == kIndexFamily) index_ = family;
      if (family->GetName() == kSearchFamily) search_ = family;
    }
    read_.snapshot = snapshot_.snapshot();
    read_.fill_cache = false;
    read_.readahead_size = 2 << 20;
    read_.total_order_seek = true;
    get_.snapshot = snapshot_.snapshot();
    get_.fill_cache = false;
  }

  Result<CheckReport> Run() {
    CheckLogs();
    ReadWordState();
    CheckEvents();
    CheckIndex();
    if (words_) CheckWords();
    // The entries behind a damaged block were not read, so it is not known which ones are missing.
    if (!findings_.contains(kDamagedFile)) CompareSums();
    if (!failure_.ok()) return Status::Error("cannot read the database: " + failure_.ToString());
    for (auto& [what, finding] : findings_) report_.findings.push_back(std::move(finding));
    return std::move(report_);
  }

 private:
  static EventLimits AnySize() {
    constexpr size_t kAny = std::numeric_limits<uint32_t>::max();
    return {.max_bytes = kAny, .max_tags = kAny, .max_tag_bytes = kAny, .max_content_bytes = kAny};
  }

  // Events that are lost leave no other traces than these.
  void CheckLogs() {
    if (!loss_.empty()) Found("write-ahead log that is damaged", loss_);
    const std::string line = NewestCorruption(db_.GetName(), WallClock::System().Now());
    if (!line.empty())
      Found("damage that RocksDB met in the last thirty days (its file LOG; remove that once it is seen to)", line);
  }

  void Found(const std::string& what, std::string example) {
    CheckReport::Finding& finding = findings_[what];
    finding.what = what;
    ++finding.count;
    if (finding.examples.size() < options_.examples) finding.examples.push_back(std::move(example));
  }

  // Returns true if the read succeeded. Damage that RocksDB itself finds is a finding, other errors are a failure.
  bool Readable(const rocksdb::Status& status) {
    if (status.ok()) return true;
    if (status.IsCorruption()) {
      Found(kDamagedFile, status.ToString());
    } else if (failure_.ok()) {
      failure_ = status;
    }
    return false;
  }

  void ForEach(rocksdb::ColumnFamilyHandle* family, std::string_view prefix,
               const std::function<void(std::string_view key, std::string_view value)>& visit) {
    const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(read_, family));
    for (at->Seek(prefix); at->Valid() && ToView(at->key()).starts_with(prefix); at->Next())
      visit(ToView(at->key()), ToView(at->value()));
    Readable(at->status());
  }

  std::optional<std::string> Get(rocksdb::ColumnFamilyHandle* family, std::string_view key) {
    std::string value;
    const rocksdb::Status status = db_.Get(get_, family, key, &value);
    if (status.IsNotFound() || !Readable(status)) return std::nullopt;
    return value;
  }

  static bool IsEvent(std::string_view key, std::string_view record) {
    return key.size() == 8 && EventView::WellFormed(record);
  }

  void CheckEvents() {
    ForEach(events_, "", [this](std::string_view key, std::string_view record) {
      ++report_.events;
      if (!IsEvent(key, record)) return Found("record that is no event", "key " + ToHex(key));
      const uint64_t serial = ReadNumber(key.data(), 8);
      const EventView event(record);
      last_serial_ = std::max(last_serial_, serial);
      for (const auto& [entry, value] : AllEntriesOf(event, serial)) expected_[entry[0]].Add(entry, value);
      if (ClassOf(event.kind()) == KindClass::kEphemeral) Found("ephemeral event", ToHex(event.id()));
      if (options_.signatures) CheckSignature(event);
    });
  }

  void CheckSignature(EventView event) {
    const Result<Event> parsed = parser_.Parse(event.json());
    if (!parsed.ok()) return Found("event that is not valid", ToHex(event.id()) + ": " + parsed.status().message());
    if (*parsed.value().record() != event.record())
      return Found("record that differs from its event", ToHex(event.id()));
    if (!VerifySignature(event)) Found("wrong signature", ToHex(event.id()));
  }

  void CheckIndex() {
    ForEach(index_, "", [this](std::string_view key, std::string_view value) {
      const char letter = key.empty() ? '\0' : key[0];
      if (kEntryLetters.find(letter) != std::string_view::npos) {
        ++report_.entries;
        found_[letter].Add(key, value);
      } else if (kMarkLetters.find(letter) != std::string_view::npos) {
        ++report_.marks;
        CheckMark(key, value);
      } else if (letter != 'm') {
        Found("index entry of no known kind", ToHex(key));
      }
    });
  }

  // An index without a state that this program knows is not used.
  void ReadWordState() {
    const auto value = search_ == nullptr ? std::nullopt : Get(search_, kSearchStateKey);
    const auto state = value ? ReadSearchState(*value) : std::nullopt;
    if (state) words_.emplace(*state);
  }

  void CheckWords() {
    ForEach(search_, "", [this](std::string_view key, std::string_view value) {
      if (key == kSearchStateKey) return;
      ++report_.entries;
      found_[kWordLetter].Add(kWordLetter + std::string(key), value);
    });
  }

  // Returns all entries that the event should have, those of the index of words behind kWordLetter.
  Entries AllEntriesOf(EventView event, uint64_t serial) const {
    Entries entries = EntriesOf(event, serial);
    if (!words_ || serial <= words_->unbuilt()) return entries;
    words_->ForEachEntry(event, serial, [&](std::string_view key, std::string_view value) {
      entries.emplace_back(kWordLetter + std::string(key), value);
    });
    return entries;
  }

  std::optional<std::string> GetEntry(const std::string& entry) {
    return entry[0] == kWordLetter ? Get(search_, entry.substr(1)) : Get(index_, entry);
  }

  void CheckMark(std::string_view key, std::string_view value) {
    switch (key[0]) {
      case 'e':
        return CheckDeletionMark(key, value);
      case 'r':
        return CheckAddressMark(key, value);
      case 'v':
        return CheckVanishMark(key, value);
      default:
        if (key.size() != 33 || value.size() != 14) Found("mark that cannot be read", ToHex(key));
    }
  }

  void CheckDeletionMark(std::string_view key, std::string_view value) {
    if (key.size() < 34 || !value.empty()) return Found("mark that cannot be read", ToHex(key));
    const std::string id_key = "i" + std::string(key.substr(1, 32));
    const std::string_view author = key.substr(33);
    WithRecord(id_key, [&](EventView event) {
      if (event.kind() == kDeletionKind || event.kind() == kVanishKind) return;
      ForEachOwner(event, [&](const PublicKey& owner) {
        if (std::string_view(reinterpret_cast<const char*>(owner.data()), owner.size()).starts_with(author))
          Found("event that its author deleted", ToHex(event.id()));
      });
    });
  }

  void CheckAddressMark(std::string_view key, std::string_view value) {
    if (key.size() != 17 || value.size() != 8) return Found("mark that cannot be read", ToHex(key));
    WithRecord("d" + std::string(key.substr(1)), [&](EventView event) {
      if (event.created_at() <= ReadNumber(value.data(), 8)) Found("event that its author deleted", ToHex(event.id()));
    });
  }

  void CheckVanishMark(std::string_view key, std::string_view value) {
    if (key.size() != 33 || value.size() != 8) return Found("mark that cannot be read", ToHex(key));
    if (Get(index_, "w" + std::string(key.substr(1)))) return;  // its events are being removed
    PublicKey author;
    std::copy_n(key.begin() + 1, author.size(), author.begin());
    const uint64_t until = ReadNumber(value.data(), 8);
    const std::string hex = ToHex(author);
    const auto check = [&](std::string_view entry, std::string_view) {
      const auto record = RecordOf(entry, "");
      if (!record) return;
      const EventView event(*record);
      if (event.created_at() > until || event.kind() == kVanishKind) return;
      if (event.pubkey() == author || IsWrappedFor(event, hex))
        Found("event of an author who vanished", ToHex(event.id()));
    };
    ForEach(index_, AuthorRange(author).view(), check);
    ForEach(index_, TagRange('p', hex).Number(kGiftWrapKind, 2).view(), check);
  }

  // Returns the record that an entry leads to; null if there is no valid one.
  std::optional<std::string> RecordOf(std::string_view key, std::string_view value) {
    const std::optional<uint64_t> serial = SerialOf(key, value);
    if (!serial) return std::nullopt;
    auto record = Get(events_, EventKey(*serial).view());
    if (record && !EventView::WellFormed(*record)) return std::nullopt;
    return record;
  }

  void WithRecord(const std::string& key, const std::function<void(EventView)>& visit) {
    const auto value = Get(index_, key);
    if (const auto record = value ? RecordOf(key, *value) : std::nullopt) visit(EventView(*record));
  }

  void CompareSums() {
    for (const char letter : std::string(kEntryLetters) + kWordLetter) {
      if (expected_[letter] == found_[letter]) continue;
      LookForMissing(letter);
      LookForStray(letter);
    }
    CheckCounters();
  }

  void LookForMissing(char letter) {
    ForEach(events_, "", [&](std::string_view key, std::string_view record) {
      if (!IsEvent(key, record)) return;
      const EventView event(record);
      for (const auto& [entry, value] : AllEntriesOf(event, ReadNumber(key.data(), 8))) {
        if (entry[0] != letter) continue;
        const auto stored = GetEntry(entry);
        const std::string example = ToHex(entry) + " of event " + ToHex(event.id());
        if (!stored) {
          Found(std::string("missing index entry ") + letter, example);
        } else if (*stored != value) {
          Found(std::string("index entry ") + letter + " that leads elsewhere", example);
        }
      }
    });
  }

  void LookForStray(char letter) {
    const bool is_word = letter == kWordLetter;
    ForEach(is_word ? search_ : index_, is_word ? "" : std::string(1, letter),
            [&](std::string_view stored_key, std::string_view value) {
              if (is_word && stored_key == kSearchStateKey) return;
              const std::string key = is_word ? kWordLetter + std::string(stored_key) : std::string(stored_key);
              const std::optional<uint64_t> serial = SerialOf(key, value);
              const auto record = serial ? Get(events_, EventKey(*serial).view()) : std::nullopt;
              // The entries of a damaged record are unknown; CheckEvents has already reported the record.
              if (record && !EventView::WellFormed(*record)) return;
              if (record) {
                const Entries entries = AllEntriesOf(EventView(*record), *serial);
                if (std::ranges::any_of(entries, [&](const auto& entry) { return entry.first == key; })) return;
              }
              Found(std::string("stray index entry ") + letter,
                    ToHex(key) + (record ? " that its event does not have" : " of no event"));
            });
  }

  void CheckCounters() {
    const auto value = Get(index_, CountersKey().view());
    Counters counters;
    if (value ? !ReadCounters(*value, &counters) : report_.events > 0) return Found("counters that cannot be read", "");
    if (counters.events != report_.events) {
      Found("wrong count of events",
            "counted as " + std::to_string(counters.events) + ", there are " + std::to_string(report_.events));
    }
    if (counters.last_serial < last_serial_) {
      Found("event that is newer than the last serial",
            std::to_string(last_serial_) + " after " + std::to_string(counters.last_serial));
    }
  }

  rocksdb::DB& db_;
  const std::string loss_;
  const CheckOptions options_;
  rocksdb::ManagedSnapshot snapshot_;
  EventParser parser_;
  rocksdb::ColumnFamilyHandle* events_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  rocksdb::ColumnFamilyHandle* search_ = nullptr;  // null if there is no index of words
  std::optional<SearchIndex> words_;               // null if that index is not used
  rocksdb::ReadOptions read_;                      // for whole ranges
  rocksdb::ReadOptions get_;
  Sums expected_{};
  Sums found_{};
  uint64_t last_serial_ = 0;
  CheckReport report_;
  std::map<std::string, CheckReport::Finding> findings_;
  rocksdb::Status failure_;
};

}  // namespace

Result<CheckReport> CheckStore(const RocksDbStore& store, const CheckOptions& options) {
  return Checker(store, options).Run();
}

std::string ToText(const CheckReport& report) {
  return std::to_string(report.events) + " events, " + std::to_string(report.entries) + " index entries, " +
         std::to_string(report.marks) + " marks: " + (report.clean() ? "nothing wrong\n" : "damaged\n") +
         FindingsText(report);
}

std::string FindingsText(const CheckReport& report) {
  std::string text;
  for (const CheckReport::Finding& finding : report.findings) {
    text += finding.what + ": " + std::to_string(finding.count) + "\n";
    for (const std::string& example : finding.examples) text += "  " + example + "\n";
    if (finding.count > finding.examples.size())
      text += "  and " + std::to_string(finding.count - finding.examples.size()) + " more\n";
  }
  return text;
}

}  // namespace weir
