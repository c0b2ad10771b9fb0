// Unsettled: the chunks that a relay was sent, or will be, and has not settled; and what it says of their lines, which
// it counts from the begin of each body (import_service.h).
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "import/chunk.h"
#include "import/import_answer.h"
#include "import/line_judge.h"
#include "import/settled.h"

namespace weir {

class Unsettled {
 public:
  // As parts, one after the other.
  using Body = std::array<std::string_view, 3>;

  // Judges lines that are too long, which are not sent.
  explicit Unsettled(const JudgeOptions& judge) : judge_(judge, nullptr, WallClock::System()) {}

  void Add(Chunk chunk);
  bool empty() const { return items_.empty(); }
  // What these cost in memory, also when all of them are rejected line by line.
  uint64_t weight() const { return weight_; }

  // A new body: all is to be sent.
  void BeginBody();
  // What is to be sent next, if there is something. Stays where it is until BeginBody or the NoteSent that follows.
  std::optional<Body> Next();
  void NoteSent();
  // Lines that were sent are not settled.
  bool any_sent() const;

  void NoteReject(const ImportReject& reject);
  void NoteProgress(const ImportProgress& progress);

  // The first one, if it is settled.
  std::optional<SettledChunk> TakeSettled();

 private:
  struct Item {
    Chunk chunk;
    bool sent = false;
    uint64_t body_begin = 0;  // lines of the body before it
    uint64_t body_end = 0;
    std::vector<Reject> rejects;
    // How far the text was looked through for them.
    uint64_t seen_lines = 0;
    size_t seen_bytes = 0;

    bool too_long() const { return chunk.kind == Chunk::Kind::kTooLong; }
  };

  SettledChunk Settle(Item item);
  Tally TakeTally(const Item& item);

  LineJudge judge_;
  std::deque<Item> items_;
  uint64_t weight_ = 0;
  size_t next_ = 0;       // the first that was not sent
  bool sending_ = false;  // that one
  uint64_t body_lines_ = 0;
  uint64_t settled_lines_ = 0;  // of the body
  Tally told_;                  // of the body
  Tally not_taken_;             // of these: of no chunk that is settled
};

}  // namespace weir
