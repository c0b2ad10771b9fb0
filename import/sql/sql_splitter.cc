#include "import/sql/sql_splitter.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr std::string_view kDelimiterWord = "DELIMITER";
constexpr size_t kLongestDelimiter = 16;
// No token that is looked at is longer.
constexpr size_t kAhead = 16;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool IsWord(std::string_view text, std::string_view word) {
  return text.size() == word.size() && std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
           return std::toupper(static_cast<unsigned char>(a)) == b;
         });
}

}  // namespace

Status SqlSplitter::Add(std::string_view piece, const OnStatement& on_statement) {
  text_ += piece;
  waits_ = false;
  Status scanned = Scan(text_.size() - std::min(kAhead, text_.size()), on_statement);
  if (!scanned.ok()) return scanned;
  const size_t done = is_empty_ ? at_ : begin_;
  text_.erase(0, done);
  at_ -= done;
  begin_ = 0;
  if (text_.size() <= most_bytes_ + kAhead) return {};
  return Status::Error("line " + std::to_string(begin_line_) + ": a statement that begins here is longer than " +
                       std::to_string(most_bytes_ >> 20) + " MiB");
}

Status SqlSplitter::End(const OnStatement& on_statement) {
  waits_ = false;
  if (Status scanned = Scan(text_.size(), on_statement); !scanned.ok()) return scanned;
  if (in_ == In::kQuotes)
    return Status::Error("line " + std::to_string(begin_line_) + ": the statement that begins here has no end; a " +
                         std::string(1, quote_) + " in it has no second one");
  if (in_ == In::kComment)
    return Status::Error("line " + std::to_string(comment_line_) + ": the comment that begins here has no end");
  if (is_empty_) return {};
  return Status::Error("line " + std::to_string(begin_line_) + ": the statement that begins here has no " + delimiter_ +
                       " at its end, so the input may have been cut off; it is not executed");
}

void SqlSplitter::Step(size_t bytes) {
  const size_t end = std::min(at_ + bytes, text_.size());
  for (; at_ < end; ++at_)
    if (text_[at_] == '\n') ++line_;
}

Status SqlSplitter::Scan(size_t end, const OnStatement& on_statement) {
  const bool is_whole = end == text_.size();
  while (at_ < end && !waits_) {
    const char c = text_[at_];
    switch (in_) {
      case In::kText:
        if (Status scanned = ScanText(is_whole, on_statement); !scanned.ok()) return scanned;
        break;
      case In::kQuotes:
        if (c == quote_) in_ = In::kText;
        Step(c == '\\' && quote_ != '`' ? 2 : 1);
        break;
      case In::kLineComment:
        if (c == '\n') in_ = In::kText;
        Step(1);
        break;
      case In::kComment:
        if (Starts("*/")) in_ = In::kText;
        Step(in_ == In::kText ? 2 : 1);
        break;
    }
  }
  return {};
}

Status SqlSplitter::ScanText(bool is_whole, const OnStatement& on_statement) {
  const char c = text_[at_];
  if (is_empty_ && IsBlank(c)) {
    Step(1);
    return {};
  }
  if (is_empty_ && TakeDelimiterLine(is_whole)) return {};
  if (Starts(delimiter_)) {
    const size_t end = at_;
    Step(delimiter_.size());
    if (std::exchange(is_empty_, true)) return {};
    return on_statement({text_.substr(begin_, end - begin_), begin_line_, line_});
  }
  if (c == '#' || (Starts("--") && (at_ + 2 == text_.size() || IsBlank(text_[at_ + 2])))) {
    in_ = In::kLineComment;
  } else if (Starts("/*") && !Starts("/*!") && !Starts("/*M!")) {
    in_ = In::kComment;
    comment_line_ = line_;
    Step(1);
  } else {
    if (std::exchange(is_empty_, false)) {
      begin_ = at_;
      begin_line_ = line_;
    }
    if (c == '\'' || c == '"' || c == '`') {
      in_ = In::kQuotes;
      quote_ = c;
    }
  }
  Step(1);
  return {};
}

// Returns false if there is no such line here.
bool SqlSplitter::TakeDelimiterLine(bool is_whole) {
  const std::string_view rest = std::string_view(text_).substr(at_);
  const bool is_here = IsWord(rest.substr(0, kDelimiterWord.size()), kDelimiterWord) &&
                       rest.size() > kDelimiterWord.size() && IsBlank(rest[kDelimiterWord.size()]);
  if (!is_here) return false;
  const size_t end = rest.find('\n');
  waits_ = end == rest.npos && !is_whole;
  if (waits_) return true;
  std::string_view word =
      TrimBlanks(rest.substr(kDelimiterWord.size(), std::min(end, rest.size()) - kDelimiterWord.size()));
  word = word.substr(0, std::min(word.find(' '), kLongestDelimiter));
  if (!word.empty()) delimiter_ = word;
  Step(std::min(end, rest.size()));
  return true;
}

}  // namespace weir
