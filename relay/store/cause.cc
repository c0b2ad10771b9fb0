#include "relay/store/cause.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weir {
namespace {

using namespace std::string_view_literals;

constexpr std::array<CauseWords, kCauses> kWords{{
    {"client", "client", ""},
    {"relay", "overload", ""},
    {"relay", "shutdown", "shutting down"},
    {"relay", "disk", "disk budget"},
    {"relay", "fault", ""},
    {"database", "away", "the database is away"},
    {"database", "slow", "the database does not answer in time"},
    {"database", "busy", "the database has no connection free"},
    {"database", "full", "the disk of the database is full"},
    {"database", "read_only", "the database takes no writes"},
    {"database", "standby", "a standby of the database is missing"},
    {"database", "error", "the database has refused this"},
    {"bus", "lost", ""},
}};

// Lists parts of errors, and beginnings of SQLSTATEs. The first that an error contains decides. An error of Connect has
// the words of all hosts, one of which may be a standby beside a primary that is away.
constexpr std::array<std::pair<std::string_view, Cause>, 23> kErrors{{
    {"one may be missing"sv, Cause::kStandbyMissing},  // after "no answer in time to COMMIT"
    {"did not wait for its standbys"sv, Cause::kStandbyMissing},
    {"no answer in time"sv, Cause::kDatabaseSlow},
    {"all connections are in use"sv, Cause::kDatabaseBusy},
    {"another relay saved the same"sv, Cause::kDatabaseBusy},
    {"[25006]"sv, Cause::kDatabaseReadOnly},
    {"[53300]"sv, Cause::kDatabaseBusy},
    {"[53100]"sv, Cause::kDatabaseFull},
    {"[57014]"sv, Cause::kDatabaseSlow},  // statement_timeout
    {"[25P03]"sv, Cause::kDatabaseSlow},  // idle_in_transaction_session_timeout
    {"[25P04]"sv, Cause::kDatabaseSlow},  // transaction_timeout
    {"[55P03]"sv, Cause::kDatabaseSlow},  // lock_timeout
    {"[40"sv, Cause::kDatabaseBusy},      // other transactions came first
    {"[53000]"sv, Cause::kDatabaseBusy},
    {"[53200]"sv, Cause::kDatabaseBusy},  // its memory
    {"[57P0"sv, Cause::kDatabaseAway},    // the server stops or starts
    {"[08"sv, Cause::kDatabaseAway},
    {"["sv, Cause::kDatabaseError},
    {"damaged"sv, Cause::kDatabaseError},
    {"an unexpected answer"sv, Cause::kDatabaseError},
    {"Connection refused"sv, Cause::kDatabaseAway},
    {"could not translate host name"sv, Cause::kDatabaseAway},
    {"session is read-only"sv, Cause::kDatabaseReadOnly},  // libpq's words for a host that takes no writes
}};

// Lists the beginnings of refusals that are not the client's fault, and of those that only seem so. The first that a
// refusal has decides. The throttle's refusals name a signal or a state (policy.h).
constexpr std::array<std::pair<std::string_view, Cause>, 23> kRefusals{{
    {"error: too many subscriptions"sv, Cause::kClient},
    {"error: too many new events"sv, Cause::kOverload},
    {"error: the database takes no events of this date"sv, Cause::kDatabaseError},
    {"error: "sv, Cause::kFault},  // the words that follow tell more
    {"restricted: the operator of this relay has not set its address"sv, Cause::kFault},
    {"rate-limited: standby;"sv, Cause::kStandbyMissing},
    {"rate-limited: replica;"sv, Cause::kDatabaseBusy},
    {"rate-limited: wal;"sv, Cause::kDatabaseBusy},
    {"rate-limited: stopped;"sv, Cause::kShutdown},
    {"rate-limited: emergency;"sv, Cause::kOverload},
    {"rate-limited: memory;"sv, Cause::kOverload},
    {"rate-limited: own;"sv, Cause::kOverload},
    {"rate-limited: cores;"sv, Cause::kOverload},
    {"rate-limited: queue full;"sv, Cause::kOverload},
    {"rate-limited: sensor lost;"sv, Cause::kOverload},
    {"rate-limited: memtables;"sv, Cause::kOverload},
    {"rate-limited: l0;"sv, Cause::kOverload},
    {"rate-limited: debt;"sv, Cause::kOverload},
    {"rate-limited: buffers;"sv, Cause::kOverload},
    {"rate-limited: a write of at least"sv, Cause::kOverload},
    {"rate-limited: memory is short"sv, Cause::kOverload},  // relay/net/session.cc
    {"rate-limited: new keys wait"sv, Cause::kOverload},    // relay/standing/ladder.cc
    {"rate-limited: reported keys wait"sv, Cause::kOverload},
}};

}  // namespace

const CauseWords& WordsOf(Cause cause) { return kWords[static_cast<size_t>(cause)]; }

Cause CauseOfError(const Status& error) {
  const std::string_view message = error.message();
  if (message.find("shutting down") != message.npos) return Cause::kShutdown;
  if (!message.starts_with("PostgreSQL: "))
    return message.find("IO error") != message.npos || message.find("disk") != message.npos ? Cause::kDisk
                                                                                            : Cause::kFault;
  const auto* const known =
      std::ranges::find_if(kErrors, [&](const auto& part) { return message.find(part.first) != message.npos; });
  return known != kErrors.end() ? known->second : Cause::kDatabaseAway;
}

Cause CauseOfRefusal(std::string_view refusal) {
  const auto* const known =
      std::ranges::find_if(kRefusals, [&](const auto& begin) { return refusal.starts_with(begin.first); });
  if (known == kRefusals.end()) return Cause::kClient;
  if (known->second != Cause::kFault) return known->second;
  for (size_t i = 0; i < kCauses; ++i)
    if (!kWords[i].words.empty() && refusal.find(kWords[i].words) != refusal.npos) return static_cast<Cause>(i);
  return CauseOfError(Status::Error(std::string(refusal)));
}

}  // namespace weir
