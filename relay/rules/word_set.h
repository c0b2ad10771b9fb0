// WordSet: regular expressions (RE2) that are searched in a text. The set never changes after its construction, so any
// thread may use it.
//
// A text that is made for an expression costs up to 20 ns for each byte of the text and each instruction of the program
// to which RE2 compiles the expression: almost each byte then leads to a new state. So a program has a bounded length,
// and the text is searched in pieces of a bounded cost. Pieces overlap by kOverlap bytes, so every match of fewer bytes
// is found. A longer match may be missed if the text has more bytes than a piece.
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
  // The longest program of an expression. `(?i)free bitcoin` has 16 instructions, `.{0,50}` has 450.
  static constexpr int kMostInstructions = 500;
  static constexpr size_t kOverlap = 256;
  static constexpr size_t kShortestPiece = 2 * kOverlap;

  // Returns an error if the expression is wrong, has too long a program, or matches the empty text and so every text.
  // The error completes a sentence that begins with the expression.
  static Status CheckExpression(const std::string& expression);

  // The expressions must pass CheckExpression.
  explicit WordSet(std::vector<std::string> expressions);
  ~WordSet();

  // The place at which a search goes on.
  struct Place {
    size_t group = 0;
    size_t from = 0;  // in the text
  };
  bool IsOver(const Place& place) const;
  // Searches the next piece of the text, in a few milliseconds at most, and moves the place behind it. Returns the
  // index of the first expression that matches there. REQUIRES: the search is not over.
  std::optional<size_t> FindSome(std::string_view text, Place* place) const;
  // Searches the whole text. Returns the index of an expression that matches somewhere.
  std::optional<size_t> Find(std::string_view text) const;
  const std::vector<std::string>& expressions() const { return expressions_; }

 private:
  struct Group;
  Group MakeGroup(size_t first) const;

  const std::vector<std::string> expressions_;
  std::vector<Group> groups_;
};

}  // namespace weir
