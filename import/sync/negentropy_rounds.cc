#include "import/sync/negentropy_rounds.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/text/hex.h"

namespace weir {
namespace {

constexpr std::string_view kSubscription = "sync";

std::string Message(std::string_view verb, std::string_view rest) {
  return "[\"" + std::string(verb) + "\",\"" + std::string(kSubscription) + "\"" + std::string(rest) + "]";
}

// Returns true for a notice such as `unknown message "NEG-OPEN"`.
bool IsAboutNegentropy(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find("neg-") != text.npos || text.find("negentropy") != text.npos;
}

}  // namespace

Status NegentropyRounds::Begin(const Filter& filter, const Say& say) {
  return say(
      Message("NEG-OPEN", "," + ToJson(filter) + ",\"" + ToHex(Reconciler::FirstMessage(set_, kFrameBytes)) + "\""));
}

Result<bool> NegentropyRounds::OnMessage(const RelayMessage& message) {
  using Kind = RelayMessage::Kind;
  if (message.kind == Kind::kNotice && !has_answered() && IsAboutNegentropy(message.text)) {
    refusal_ = message.text;
    return true;
  }
  if (message.subject != kSubscription) return false;
  if (message.kind == Kind::kNegMsg && !has_answered() && message.text.size() == 2 && message.text != "61") {
    refusal_ = "it speaks another version of negentropy";
    return true;
  }
  if (message.kind == Kind::kNegMsg) {
    ++rounds_;
    std::string bytes(message.text.size() / 2, '\0');
    if (!FromHex(message.text, reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()))
      return Status::Error("the relay's NEG-MSG is not in hexadecimal");
    answer_ = std::move(bytes);
    return true;
  }
  if (message.kind != Kind::kNegErr && message.kind != Kind::kClosed) return false;
  if (has_answered()) return Status::Error("the relay ends the comparison: " + message.text);
  refusal_ = message.text.empty() ? "it gives no reason" : message.text;
  return true;
}

Status NegentropyRounds::Answer(const Say& say, SyncDifferences* found) {
  if (!answer_) return {};
  Reconciler reconciler(set_, *std::exchange(answer_, std::nullopt), kFrameBytes, found);
  Result<bool> done = false;
  while (done.ok() && !done.value()) done = reconciler.Next(kTurnWork);
  if (!done.ok()) return Status::Error("the relay's NEG-MSG is wrong: " + done.status().message());
  const std::string next = reconciler.Take();
  done_ = next.empty();
  return done_ ? End(say) : say(Message("NEG-MSG", ",\"" + ToHex(next) + "\""));
}

Status NegentropyRounds::End(const Say& say) { return say(Message("NEG-CLOSE", "")); }

}  // namespace weir
