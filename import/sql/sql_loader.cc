#include "import/sql/sql_loader.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace weir {
namespace {

constexpr unsigned kLockWaitTimeout = 1205;
constexpr unsigned kDeadlock = 1213;
constexpr Duration kFirstRetryPause =
    std::chrono::milliseconds(5);  // before a transaction is tried again; doubled each time
constexpr Duration kLongestRetryPause = std::chrono::seconds(3);

// Returns the first word in capital letters.
std::string FirstWord(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return word;
}

bool ChangesRows(std::string_view word) {
  return word == "INSERT" || word == "REPLACE" || word == "UPDATE" || word == "DELETE";
}

}  // namespace

Status SqlLoader::Add(SqlStatement statement) {
  const std::string word = FirstWord(statement.text);
  if (ChangesRows(word)) {
    rows_bytes_ += statement.text.size();
    rows_.push_back(std::move(statement));
    return rows_bytes_ < options_.transaction_bytes ? Status() : Finish();
  }
  if (Status finished = Finish(); !finished.ok()) return finished;
  tally_.next_line = statement.line;
  if (word == "LOCK" || word == "UNLOCK") {
    ++tally_.left_out;
    return {};
  }
  return RunAlone(statement);
}

Status SqlLoader::Finish() {
  if (rows_.empty()) return {};
  tally_.next_line = rows_.front().line;
  std::optional<Admission> permit;
  if (!gate_.Enter(rows_bytes_, &permit)) return Status::Error("stopped");
  const TimePoint begun = Clock::System().Now();
  Status done = RunTransaction();
  for (Duration pause = kFirstRetryPause; !done.ok() && conflict_ && pause < kLongestRetryPause; pause *= 2) {
    if (!gate_.Pause(pause)) return Status::Error("stopped");
    ++tally_.repeated;
    done = RunTransaction();
  }
  if (!done.ok()) return done;
  gate_.RecordLatency(Clock::System().Now() - begun);
  tally_.statements += rows_.size();
  tally_.bytes += std::exchange(rows_bytes_, 0);
  tally_.next_line = rows_.back().line + 1;
  rows_.clear();
  return {};
}

Status SqlLoader::Execute(const SqlStatement& statement) {
  const Status done = session_.Ask(statement.text, options_.patience).status();
  return done.ok() ? done : Status::Error("line " + std::to_string(statement.line) + ": " + done.message());
}

Status SqlLoader::RunTransaction() {
  conflict_ = false;
  Status done = Execute({"START TRANSACTION", rows_.front().line});
  for (size_t i = 0; done.ok() && i < rows_.size(); ++i) done = Execute(rows_[i]);
  if (done.ok()) {
    done = Execute({"COMMIT", rows_.back().line});
    tally_.last_is_unknown = !done.ok() && !session_.connected();
  }
  if (done.ok() || !session_.connected()) return done;
  conflict_ = session_.error_number() == kLockWaitTimeout || session_.error_number() == kDeadlock;
  const Status undone = Execute({"ROLLBACK", rows_.front().line});
  conflict_ = conflict_ && undone.ok();
  return done;
}

Status SqlLoader::RunAlone(const SqlStatement& statement) {
  std::optional<Admission> permit;
  if (!gate_.Enter(statement.text.size(), &permit)) return Status::Error("stopped");
  Status done = Execute(statement);
  tally_.last_is_unknown = !done.ok() && !session_.connected();
  if (!done.ok()) return done;
  ++tally_.statements;
  tally_.bytes += statement.text.size();
  tally_.next_line = statement.line + 1;
  return done;
}

}  // namespace weir
