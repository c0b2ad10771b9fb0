#include "relay/rules/word_set.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <utility>

namespace weir {
namespace {

// The memory for the program and the states of one expression, and of all together.
constexpr int64_t kMostExpressionBytes = int64_t{1} << 20;
constexpr int64_t kMostBytes = int64_t{16} << 20;
// Up to this many expressions are searched one by one: two words take 1.2 ns a byte so, and 2.4 ns in one pass.
constexpr size_t kFewExpressions = 2;

re2::RE2::Options OptionsWith(int64_t most_bytes) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(most_bytes);
  options.set_never_capture(true);
  return options;
}

}  // namespace

struct WordSet::Compiled {
  std::vector<std::unique_ptr<re2::RE2>> single;
  re2::RE2::Set all{OptionsWith(kMostBytes), re2::RE2::UNANCHORED};
  bool all_is_good = false;
};

Status WordSet::CheckExpression(const std::string& expression) {
  const re2::RE2 compiled(expression, OptionsWith(kMostExpressionBytes));
  if (!compiled.ok()) return Status::Error("is no regular expression: " + compiled.error());
  if (re2::RE2::PartialMatch("", compiled)) return Status::Error("matches the empty text, so it matches every event");
  return Status();
}

WordSet::WordSet(std::vector<std::string> expressions)
    : expressions_(std::move(expressions)), compiled_(std::make_unique<Compiled>()) {
  bool good = expressions_.size() > kFewExpressions;
  for (const std::string& expression : expressions_) {
    compiled_->single.push_back(std::make_unique<re2::RE2>(expression, OptionsWith(kMostExpressionBytes)));
    good = good && compiled_->all.Add(expression, nullptr) >= 0;
  }
  compiled_->all_is_good = good && compiled_->all.Compile();
}

WordSet::~WordSet() = default;

std::optional<size_t> WordSet::Find(std::string_view text) const {
  const re2::StringPiece piece(text.data(), text.size());
  if (compiled_->all_is_good) {
    // Few texts match, and without a list of the matches this search is faster than the one below.
    re2::RE2::Set::ErrorInfo error{};
    const bool matches = compiled_->all.Match(piece, nullptr, &error);
    if (!matches && error.kind == re2::RE2::Set::kNoError) return std::nullopt;
  }
  for (size_t i = 0; i < compiled_->single.size(); ++i)
    if (re2::RE2::PartialMatch(piece, *compiled_->single[i])) return i;
  return std::nullopt;
}

}  // namespace weir
