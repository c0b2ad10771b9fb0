// Standing: what the relay knows of an author, and the rung of the trust ladder on which the author stands. When the
// relay must hold back, it holds back strangers, not regulars.
//
// Standing is a sum of points (PointsOf). No points can be bought in an hour: an author's own points begin a day after
// its first event, each of them has a cap, and all of them together are at most twice those for days on which the
// author wrote. Such days count only for a few authors of an address (standings.h). Follows give points only along
// steps from the operator's own list, so keys that follow each other give each other none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/rules/rung.h"

namespace weir {

// The most points that days of writing give, one for each.
inline constexpr int kMostDayPoints = 10;

// The measurements of an author. All times are by this relay's own clock, never by created_at.
struct AuthorRecord {
  uint32_t first_seen = 0;   // seconds since 1970; 0 if the relay has taken no event of the author
  uint32_t last_seen = 0;    // seconds since 1970
  uint32_t accepted = 0;     // new events that were stored
  uint32_t deleted = 0;      // events that the author has asked to delete (kind 5)
  uint16_t active_days = 0;  // days (UTC) on which the author wrote and which count
  uint16_t last_day = 0;     // the newest of them, in days since 1970
  uint16_t reported = 0;     // authors at kRegular or above that have reported this one (kind 1984)
  uint8_t follow_steps = 0;  // 1: on the operator's own list; 2: followed from there; 3: followed by keys of step 2;
                             // 0: not reached
  uint8_t followers = 0;     // the number of keys one step nearer that follow the author, at most 255
  uint8_t work_bits = 0;     // 28 or 20 if an event had this much proof of work (NIP-13), otherwise 0
  bool proved = false;       // the author has sent an event over a connection with AUTH for its key (NIP-42)

  bool operator==(const AuthorRecord&) const = default;
};

// Returns true if `now_seconds` is on a later day (UTC) than the newest that counts.
bool IsNewDay(const AuthorRecord& record, uint64_t now_seconds);
// Counts the day of `now_seconds` if it is new.
void CountDay(uint64_t now_seconds, AuthorRecord* record);

// Returns the points of the author; the README of this folder has the table.
int PointsOf(const AuthorRecord& record, uint64_t now_seconds);
Rung RungOf(const AuthorRecord& record, uint64_t now_seconds);
// Explains the rung in sentences. The first says the rung and the points, each other one says what gives or takes
// points: "the author is a regular, with 13 points; it takes 20 points to be trusted", "+10: the author wrote on 12
// days that count".
std::vector<std::string> ExplainRung(const AuthorRecord& record, uint64_t now_seconds);

}  // namespace weir
