// SqlSplitter: divides SQL into its statements, as the program mariadb does with a file, in bounded memory. The caller
// adds the text in pieces of any size.
//
// A statement ends at the delimiter, which is ";" until a line DELIMITER sets another one; in quotation marks and in
// comments it is no delimiter. Comments between statements are dropped, except those with code for the server (/*! and
// /*M!).
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

struct SqlStatement {
  std::string text;       // without comments before it and without the delimiter
  uint64_t line = 1;      // the line at which the text begins
  uint64_t end_line = 1;  // the line on which its delimiter is
};

class SqlSplitter {
 public:
  using OnStatement = std::function<Status(SqlStatement statement)>;

  explicit SqlSplitter(size_t most_bytes = 64 << 20) : most_bytes_(most_bytes) {}

  // Both pass the statements that are whole to `on_statement`, in the calling thread. End comes after the last Add.
  // They return the first error of `on_statement`, and an error if a statement is longer than `most_bytes` or, at the
  // end, if a statement has no delimiter or a comment no end: the text may have been cut off. After an error the object
  // must not be used.
  Status Add(std::string_view piece, const OnStatement& on_statement);
  Status End(const OnStatement& on_statement);

 private:
  enum class In : uint8_t { kText, kQuotes, kLineComment, kComment };

  Status Scan(size_t end, const OnStatement& on_statement);
  Status ScanText(bool is_whole, const OnStatement& on_statement);
  bool Starts(std::string_view token) const { return std::string_view(text_).substr(at_).starts_with(token); }
  void Step(size_t bytes);
  bool TakeDelimiterLine(bool is_whole);

  const size_t most_bytes_;
  std::string delimiter_ = ";";
  std::string text_;      // the statement that is not whole yet, and what follows
  size_t at_ = 0;         // everything before this was scanned
  size_t begin_ = 0;      // beginning of the statement, if there is one
  bool is_empty_ = true;  // true if nothing of a statement was found yet
  bool waits_ = false;    // true if the rest of the line must be known first
  In in_ = In::kText;
  char quote_ = 0;
  uint64_t line_ = 1;          // the line of at_
  uint64_t begin_line_ = 1;    // the line of begin_
  uint64_t comment_line_ = 1;  // the line at which the last comment began
};

}  // namespace weir
