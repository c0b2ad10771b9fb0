// Census: what takes the room in a store: how many events of which kind, month, author and tag are stored, what they
// take on the disk, how many came on which day, and how much a rule of age would remove.
//
//   Result<Census> census = TakeCensus(store, {.now_seconds = now});
//
// On RocksDB the counts are exact: the census walks through the index, not through the records, three times: by kind,
// by author and by tag. Each walk finds equal keys in a row, so it needs no table of all authors or tag values. Bytes
// are estimated from the records of a random sample: some hundred events of each kind, and up to 32 of each author that
// may be among the largest. On PostgreSQL the server counts, and a sample of its table's pages gives the sizes.
//
// On RocksDB a census takes no more than about 10 MB of memory, however many events there are. On PostgreSQL the sample
// may take some ten times as much, if the events are large.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/rules/kind_set.h"
#include "relay/store/census/amount.h"
#include "relay/store/event_store.h"
#include "throttle/admission.h"

namespace weir {

// Matches events of these kinds with a created_at before this moment.
struct OldEvents {
  uint64_t before = 0;
  KindSet kinds = KindSet::All();
};

struct CensusOptions {
  uint64_t now_seconds = 0;
  size_t most_rows = 20;  // authors and tag values that are named
  size_t sample = 256;    // records that are read of each kind (on PostgreSQL: of all kinds, eighty times as many)
  std::optional<OldEvents> rule = std::nullopt;
  // Returns the admission of the next slice, which the census holds while it reads; an error ends the census. Empty:
  // nothing is asked, and the census shows one moment of the store.
  std::function<Result<Admission>()> await = nullptr;
  Duration patience = std::chrono::minutes(10);  // for one answer of a PostgreSQL
};

// A month, as the number of months since the year 0. All days before 2020, when Nostr began, and all days after
// tomorrow count as one month each.
using Month = uint32_t;
inline constexpr Month kBefore2020 = 2020 * 12 - 1;
inline constexpr Month kFuture = 10'000 * 12;
Month MonthOf(uint64_t created_at, uint64_t now_seconds);
// Returns "2026-11", "before 2020" or "future".
std::string MonthName(Month month);
// Returns "2026-11-30" for a number of days since 1970.
std::string DayName(uint64_t day);

struct Census {
  struct OfKind {
    uint16_t kind = 0;
    Amount amount;
  };
  struct OfAuthor {
    PublicKey author{};
    Amount amount;
  };
  struct OfLetter {
    char letter = 0;
    uint64_t entries = 0;  // an estimate on PostgreSQL
  };
  struct OfTag {
    char letter = 0;
    std::string value;  // empty if its events were removed meanwhile
    uint64_t entries = 0;
  };
  struct Disk {
    uint64_t events = 0;                 // bytes of the records
    uint64_t index = 0;                  // with the index of words
    uint64_t log = 0;                    // the write-ahead log of RocksDB; 0 on PostgreSQL
    uint64_t other = 0;                  // other files of the database
    std::optional<uint64_t> free_bytes;  // on the file system of the database; null for a server
  };

  uint64_t at_seconds = 0;
  Disk disk;
  Price price;
  uint64_t sampled = 0;  // records that were read
  Amount all;
  std::vector<OfKind> kinds;        // the largest first
  std::map<Month, Amount> months;   // by created_at
  std::vector<OfAuthor> authors;    // the largest first, at most CensusOptions::most_rows
  std::vector<OfLetter> letters;    // the most entries first
  std::vector<OfTag> tags;          // the most entries first, at most CensusOptions::most_rows
  std::map<uint64_t, Amount> days;  // on which stored events came (arrivals.h), as days since 1970
  std::optional<OldEvents> rule;
  Amount matched;  // by the rule

  uint64_t DiskBytes(const Amount& amount) const;
  // The average of the last seven whole days (or of fewer, since the first event came): events, and bytes on the disk.
  struct Growth {
    double events = 0;
    double bytes = 0;
  };
  Growth GrowthADay() const;
  // Returns the days until the disk is full at this growth; null if it does not grow or the room is not known.
  std::optional<double> DaysUntilFull() const;
};

Result<Census> TakeCensus(const EventStore& store, const CensusOptions& options);

// Returns the census as JSON, the same for `weir info --json` and for the relay.
std::string CensusJson(const Census& census);

// Returns the number of index entries of the event. `record` may be the beginning of a longer record; the number is
// then estimated from the tags that it has. Adds those of tags to `letters`, if it is not null.
double EntriesOf(std::string_view record, std::map<char, double>* letters = nullptr);

}  // namespace weir
