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

// Takes the first word and the blanks after it off the text, and returns the word in capital letters.
std::string TakeWord(std::string_view& text) {
  std::string word;
  for (; !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0; text.remove_prefix(1))
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0) text.remove_prefix(1);
  return word;
}

bool ChangesRows(std::string_view word) {
  return word == "INSERT" || word == "REPLACE" || word == "UPDATE" || word == "DELETE";
}

// `rest` follows the word. BEGIN NOT ATOMIC is a block, and START SLAVE is none of these either.
bool IsLeftOut(std::string_view word, std::string_view rest) {
  if (word == "BEGIN") return rest.empty() || TakeWord(rest) == "WORK";
  if (word == "START") return TakeWord(rest) == "TRANSACTION";
  return word == "LOCK" || word == "UNLOCK" || word == "COMMIT" || word == "ROLLBACK" || word == "SAVEPOINT" ||
         word == "RELEASE";
}

}  // namespace

Status SqlLoader::Add(SqlStatement statement) {
  std::string_view rest = statement.text;
  const std::string word = TakeWord(rest);
  if (rows_.empty()) MoveTo(statement.line);
  if (ChangesRows(word)) {
    rows_bytes_ += statement.text.size();
    rows_.push_back(std::move(statement));
    return rows_bytes_ < options_.transaction_bytes ? Status() : Finish();
  }
  if (Status finished = Finish(); !finished.ok()) return finished;
  MoveTo(statement.line);
  if (IsLeftOut(word, rest)) {
    ++tally_.left_out;
    Done(statement);
    return {};
  }
  return RunAlone(statement);
}

Status SqlLoader::Finish() {
  if (rows_.empty()) return {};
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
  for (const SqlStatement& statement : rows_) Done(statement);
  rows_.clear();
  return {};
}

Status SqlLoader::Execute(const SqlStatement& statement) {
  const Status done = session_.Execute(statement.text, options_.patience);
  return done.ok() ? done : Status::Error("line " + std::to_string(statement.line) + ": " + done.message());
}

Status SqlLoader::RunTransaction() {
  conflict_ = false;
  Status done = Execute({"START TRANSACTION", rows_.front().line});
  for (size_t i = 0; done.ok() && i < rows_.size(); ++i) done = Execute(rows_[i]);
  if (done.ok()) {
    done = Execute({"COMMIT", rows_.back().line});
    if (!done.ok() && !session_.connected()) tally_.unknown = SqlLoadTally::Unknown::kLost;
  }
  if (done.ok() || !session_.connected()) return done;
  conflict_ = session_.error_number() == kLockWaitTimeout || session_.error_number() == kDeadlock;
  const Status undone = Execute({"ROLLBACK", rows_.front().line});
  // It warns of nothing but rows that stay (1196).
  if (session_.warnings() > 0) tally_.unknown = SqlLoadTally::Unknown::kNotUndone;
  conflict_ = conflict_ && undone.ok() && session_.warnings() == 0;
  return done;
}

Status SqlLoader::RunAlone(const SqlStatement& statement) {
  std::optional<Admission> permit;
  if (!gate_.Enter(statement.text.size(), &permit)) return Status::Error("stopped");
  Status done = Execute(statement);
  // A transaction that is left open would take in the next one, or never be stored.
  if (done.ok() && session_.has_open_work()) {
    done = Execute({"COMMIT", statement.line});
    if (done.ok()) done = Execute({"SET autocommit = 1", statement.line});
  }
  if (!done.ok()) {
    tally_.unknown = session_.connected() ? SqlLoadTally::Unknown::kAlone : SqlLoadTally::Unknown::kLost;
    return done;
  }
  ++tally_.statements;
  tally_.bytes += statement.text.size();
  Done(statement);
  return done;
}

void SqlLoader::MoveTo(uint64_t line) {
  if (line <= tally_.next_line) return;
  tally_.next_line = line;
  tally_.done_on_line = 0;
}

void SqlLoader::Done(const SqlStatement& statement) {
  MoveTo(statement.end_line);
  ++tally_.done_on_line;
}

}  // namespace weir
