#include "relay/rules/word_set.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// The memory for the program and the states of one expression, and of a group.
constexpr int64_t kMostExpressionBytes = int64_t{1} << 20;
constexpr int64_t kMostGroupBytes = int64_t{4} << 20;
// The expressions of a group have at most this many instructions together, so that a piece stays cheap.
constexpr int kMostTogether = 2000;
// An expression with a longer program is searched alone: it probably has a repetition. The states of several would
// multiply, so a piece of a text that is made for twenty expressions with programs of 80 took 20 ms in one pass.
constexpr int kLongAlone = 40;
// Up to this many expressions are searched one by one: two words take 1.2 ns a byte so, and 2.4 ns in one pass.
constexpr size_t kFewExpressions = 2;
// The most instructions times bytes of a piece, at 20 ns: five milliseconds.
constexpr size_t kMostPieceSteps = 250'000;

re2::RE2::Options OptionsWith(int64_t most_bytes) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(most_bytes);
  options.set_never_capture(true);
  return options;
}

}  // namespace

// Neighbours in the list that are searched in one pass.
struct WordSet::Group {
  size_t first = 0;                               // the index of its first expression
  std::vector<std::unique_ptr<re2::RE2>> single;  // each of its expressions
  std::unique_ptr<re2::RE2::Set> all;             // null if they are searched one by one
  size_t piece_bytes = 0;
};

Status WordSet::CheckExpression(const std::string& expression) {
  const re2::RE2 compiled(expression, OptionsWith(kMostExpressionBytes));
  if (!compiled.ok()) return Status::Error("is no regular expression: " + compiled.error());
  if (compiled.ProgramSize() > kMostInstructions)
    return Status::Error("takes too long to search: it has " + std::to_string(compiled.ProgramSize()) +
                         " instructions, expected at most " + std::to_string(kMostInstructions) +
                         "; use .* or a shorter repetition instead of a long one, or several expressions instead of " +
                         "many alternatives");
  if (re2::RE2::PartialMatch("", compiled)) return Status::Error("matches the empty text, so it matches every event");
  return Status();
}

WordSet::WordSet(std::vector<std::string> expressions) : expressions_(std::move(expressions)) {
  for (size_t next = 0; next < expressions_.size(); next += groups_.back().single.size())
    groups_.push_back(MakeGroup(next));
}

WordSet::~WordSet() = default;

// Returns the group of the expression with the index `first`, and of those after it that fit in.
WordSet::Group WordSet::MakeGroup(size_t first) const {
  Group group{.first = first, .single = {}, .all = nullptr};
  int together = 0;
  for (size_t i = first; i < expressions_.size(); ++i) {
    auto one = std::make_unique<re2::RE2>(expressions_[i], OptionsWith(kMostExpressionBytes));
    const int size = one->ProgramSize();
    const bool fits = size <= kLongAlone && together <= kMostTogether - size;
    if (!group.single.empty() && !fits) break;
    together += size;
    group.single.push_back(std::move(one));
    if (size > kLongAlone) break;
  }
  group.piece_bytes = std::max(kShortestPiece, kMostPieceSteps / static_cast<size_t>(std::max(together, 1)));
  if (group.single.size() <= kFewExpressions) return group;
  auto all = std::make_unique<re2::RE2::Set>(OptionsWith(kMostGroupBytes), re2::RE2::UNANCHORED);
  bool good = true;
  for (size_t i = 0; i < group.single.size(); ++i) good = good && all->Add(expressions_[first + i], nullptr) >= 0;
  if (good && all->Compile()) group.all = std::move(all);
  return group;
}

bool WordSet::IsOver(const Place& place) const { return place.group == groups_.size(); }

// The pass over all expressions of a group does not know the text around the piece, so ^ may match at its begin; the
// searches one by one know it.
std::optional<size_t> WordSet::FindSome(std::string_view text, Place* place) const {
  const Group& group = groups_[place->group];
  const re2::StringPiece whole(text.data(), text.size());
  const size_t from = place->from;
  const size_t end = from + std::min(group.piece_bytes, text.size() - from);
  *place = end < text.size() ? Place{place->group, end - kOverlap} : Place{place->group + 1, 0};
  if (group.all) {
    // Few texts match, and without a list of the matches this search is faster than the one below.
    re2::RE2::Set::ErrorInfo error{};
    const bool matches = group.all->Match(re2::StringPiece(text.data() + from, end - from), nullptr, &error);
    if (!matches && error.kind == re2::RE2::Set::kNoError) return std::nullopt;
  }
  for (size_t i = 0; i < group.single.size(); ++i)
    if (group.single[i]->Match(whole, from, end, re2::RE2::UNANCHORED, nullptr, 0)) return group.first + i;
  return std::nullopt;
}

std::optional<size_t> WordSet::Find(std::string_view text) const {
  std::optional<size_t> found;
  for (Place place; !found && !IsOver(place);) found = FindSome(text, &place);
  return found;
}

}  // namespace weir
