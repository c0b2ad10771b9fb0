// WordSet: regular expressions (RE2) that are searched in a text, in one pass if they are more than a few. The time of
// a search grows only linearly with the text, whatever the expressions are; but an expression with a long repetition,
// such as win.{0,100}bitcoin, costs a thousand times as much for each byte of a text that is made for it. The set never
// changes after its construction, so any thread may use it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

class WordSet {
 public:
  // Returns an error if the expression is wrong, needs too much memory, or matches the empty text and so every text.
  // The error completes a sentence that begins with the expression.
  static Status CheckExpression(const std::string& expression);

  // The expressions must pass CheckExpression. If they need too much memory together, they are searched one by one.
  explicit WordSet(std::vector<std::string> expressions);
  ~WordSet();

  // Returns the index of the first expression that matches somewhere in the text.
  std::optional<size_t> Find(std::string_view text) const;
  const std::vector<std::string>& expressions() const { return expressions_; }

 private:
  struct Compiled;

  const std::vector<std::string> expressions_;
  const std::unique_ptr<Compiled> compiled_;
};

}  // namespace weir
