#include "relay/store/cause.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "relay/store/event_store.h"

namespace weir {
namespace {

TEST(Cause, OfErrorsOfTheStore) {
  const std::pair<const char*, Cause> errors[] = {
      {"PostgreSQL: connection to server at \"10.0.0.5\", port 5432 failed: Connection refused", Cause::kDatabaseAway},
      {"PostgreSQL: FATAL:  terminating connection due to administrator command [57P01]", Cause::kDatabaseAway},
      {"PostgreSQL: no answer in time", Cause::kDatabaseSlow},
      {"PostgreSQL: ERROR:  canceling statement due to statement timeout [57014]", Cause::kDatabaseSlow},
      {"PostgreSQL: no answer in time to COMMIT: where it has to be on a standby (synchronous_standby_names), one may "
       "be missing",
       Cause::kStandbyMissing},
      {"PostgreSQL: all connections are in use", Cause::kDatabaseBusy},
      {"PostgreSQL: connection to server at \"standby\" failed: FATAL:  sorry, too many clients already [53300]",
       Cause::kDatabaseBusy},
      {"PostgreSQL: connection to server at \"one\" failed: FATAL:  sorry, too many clients already [53300]; "
       "connection "
       "to server at \"two\" failed: session is read-only",
       Cause::kDatabaseBusy},
      {"PostgreSQL: connection to server at \"one\" failed: Connection refused; connection to server at \"two\" "
       "failed: session is read-only",
       Cause::kDatabaseAway},
      {"PostgreSQL: connection to server at \"two\" failed: session is read-only", Cause::kDatabaseReadOnly},
      {"PostgreSQL: ERROR:  canceling statement due to lock timeout [55P03]", Cause::kDatabaseSlow},
      {"PostgreSQL: ERROR:  could not serialize access due to concurrent update [40001]", Cause::kDatabaseBusy},
      {"PostgreSQL: ERROR:  out of memory [53200]", Cause::kDatabaseBusy},
      {"PostgreSQL: FEHLER:  konnte Datei nicht erweitern [53100]", Cause::kDatabaseFull},
      {"PostgreSQL: ERROR:  cannot execute INSERT in a read-only transaction [25006]", Cause::kDatabaseReadOnly},
      {"PostgreSQL: FATAL:  password authentication failed for user \"weir\" [28P01]", Cause::kDatabaseError},
      {"PostgreSQL: ERROR:  division by zero [22012]", Cause::kDatabaseError},
      {"shutting down", Cause::kShutdown},
      {"cannot save: IO error: No space left on device", Cause::kDisk},
      {"a fault: std::bad_alloc", Cause::kFault}};
  for (const auto& [message, cause] : errors) EXPECT_EQ(CauseOfError(Status::Error(message)), cause) << message;
}

// The answer to a client tells the cause as well as the error does.
TEST(Cause, OfAnswersThatHideTheServer) {
  for (const char* message :
       {"PostgreSQL: connection to 10.0.0.5 refused", "PostgreSQL: no answer in time",
        "PostgreSQL: all connections are in use", "PostgreSQL: x [53100]", "PostgreSQL: x [25006]",
        "PostgreSQL: x [22012]", "PostgreSQL: the server did not wait for its standbys"}) {
    const Status error = Status::Error(message);
    const std::string answer = "error: could not be stored: " + ErrorForStrangers(error);
    EXPECT_EQ(CauseOfRefusal(answer), CauseOfError(error)) << answer;
    EXPECT_EQ(WordsOf(CauseOfRefusal(answer)).fault, "database") << answer;
  }
}

TEST(Cause, OfRefusals) {
  const std::pair<const char*, Cause> refusals[] = {
      {"invalid: the signature is not its author's", Cause::kClient},
      {"blocked: its author deleted it", Cause::kClient},
      {"rate-limited: 3 events a minute (relay.write.rates[0]); try again in 3 s", Cause::kClient},
      {"rate-limited: the requests of your address hold too much memory; ask for less at once", Cause::kClient},
      {"error: too many subscriptions, at most 300 at once; CLOSE some first", Cause::kClient},
      {"rate-limited: memory; try again in 2 s", Cause::kOverload},
      {"rate-limited: l0; try again in 2 s, or ask for less", Cause::kOverload},
      {"rate-limited: new keys wait while this relay is busy; try again in 4 s", Cause::kOverload},
      {"rate-limited: standby; try again in 2 s", Cause::kStandbyMissing},
      {"rate-limited: a write of at least 64 KiB takes longer than the longest wait: split it", Cause::kOverload},
      {"restricted: the operator of this relay has not set its address", Cause::kFault},
      {"error: the database takes no events of this date", Cause::kDatabaseError},
      {"rate-limited: wal; try again in 2 s", Cause::kDatabaseBusy},
      {"error: the relay is shutting down", Cause::kShutdown},
      {"error: could not be stored: shutting down", Cause::kShutdown},
      {"error: this relay's disk budget is full; it removes old events, so try again in some minutes", Cause::kDisk},
      {"error: could not be stored: cannot save: IO error: No space left on device", Cause::kDisk},
      {"error: a fault of this relay: std::bad_alloc", Cause::kFault},
      {"error: the write plugin of this relay gave no answer; try again later", Cause::kFault},
      {"", Cause::kClient}};
  for (const auto& [refusal, cause] : refusals) EXPECT_EQ(CauseOfRefusal(refusal), cause) << refusal;
}

TEST(Cause, EachHasLabelsOfItsOwn) {
  std::set<std::pair<std::string_view, std::string_view>> labels;
  for (size_t i = 0; i < kCauses; ++i) {
    const CauseWords& words = WordsOf(static_cast<Cause>(i));
    EXPECT_FALSE(words.fault.empty() || words.reason.empty()) << i;
    EXPECT_TRUE(labels.emplace(words.fault, words.reason).second) << words.reason;
  }
}

}  // namespace
}  // namespace weir
