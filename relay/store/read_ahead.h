// ReadAhead: reads parts of a database into memory before clients ask for them, in pieces: the index, if it takes
// little of the cache, and then the records with given serials, newest first. After a start each first look-up of a
// record costs 30 to 40 µs, for a block that is read and unpacked; a record that was read ahead costs 0.3 µs.
//
// Threads: not thread-safe. The store must outlive the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/store/database.h"

namespace weir {

class ReadAhead {
 public:
  // `serials` are those of the records, ascending. A record that the database does not have any more is no error.
  ReadAhead(const Database& database, std::vector<uint64_t> serials);

  // Reads the next piece, which takes about a turn (relay/account/work.h). Returns false when all is read, and when
  // the cache has no more room, because then each further record would displace one that was read before. After an
  // error the next call goes on with what follows the piece.
  Result<bool> Next();

  // Returns the share of the records that was read or is gone, 0 to 1; 0 while the index is being read.
  double done() const;
  // Returns the number of records that were read.
  uint64_t records() const { return records_; }

 private:
  bool HasRoom() const;
  Status NextOfIndex();
  Status ReadFilters();
  Status NextOfRecords();

  const Database& database_;
  std::vector<uint64_t> serials_;  // the serials that are left
  size_t all_ = 0;                 // the number of serials at first
  uint64_t records_ = 0;
  bool index_left_ = false;
  std::string index_resume_;  // the index is read up to this key
};

}  // namespace weir
