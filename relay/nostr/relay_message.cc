#include "relay/nostr/relay_message.h"

#include <array>
#include <utility>
#include <vector>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

using Kind = RelayMessage::Kind;

// The form of a message: the number of the element that is the subject and of the one that is the text; 0: none.
struct Form {
  std::string_view name;
  Kind kind;
  size_t subject;
  size_t text;
};
constexpr std::array kForms = {Form{"EVENT", Kind::kEvent, 1, 0},    Form{"OK", Kind::kOk, 1, 3},
                               Form{"EOSE", Kind::kEose, 1, 0},      Form{"CLOSED", Kind::kClosed, 1, 2},
                               Form{"NOTICE", Kind::kNotice, 0, 1},  Form{"AUTH", Kind::kAuth, 0, 1},
                               Form{"NEG-MSG", Kind::kNegMsg, 1, 2}, Form{"NEG-ERR", Kind::kNegErr, 1, 2}};

Form FormOf(std::string_view name) {
  for (const Form& form : kForms)
    if (form.name == name) return form;
  return {name, Kind::kOther, 0, 0};
}

class ElementReader {
 public:
  explicit ElementReader(const std::vector<std::string_view>& elements) : elements_(elements) {}

  // Returns an empty text for an element that is missing.
  std::string TextIfAny(size_t n) { return n < elements_.size() ? Text(n) : std::string(); }
  std::string Text(size_t n) {
    std::string text;
    JsonString string;
    JsonScanner scanner(Raw(n));
    if (scanner.ReadString(&string)) {
      AppendUnescaped(string.raw, &text);
    } else {
      failed_ = true;
    }
    return text;
  }
  bool Bool(size_t n) {
    const std::string_view raw = Raw(n);
    failed_ = failed_ || (raw != "true" && raw != "false");
    return raw == "true";
  }
  std::string_view Object(size_t n) {
    const std::string_view raw = Raw(n);
    failed_ = failed_ || !raw.starts_with('{');
    return raw;
  }
  bool failed() const { return failed_; }

 private:
  std::string_view Raw(size_t n) const { return n < elements_.size() ? elements_[n] : std::string_view(); }

  const std::vector<std::string_view>& elements_;
  bool failed_ = false;
};

}  // namespace

Result<RelayMessage> ParseRelayMessage(std::string_view text) {
  const auto wrong = [text] { return Status::Error("this is no message of a relay: " + Shown(text)); };
  std::vector<std::string_view> elements;
  if (!IsUtf8(text)) return Status::Error("a message of the relay is not UTF-8");
  JsonScanner scanner(text);
  if (!scanner.ReadList(&elements) || !scanner.AtEnd()) return wrong();
  ElementReader reader(elements);
  const std::string name = reader.Text(0);
  const Form form = FormOf(name);
  RelayMessage message{.kind = form.kind};
  if (form.subject > 0) message.subject = reader.Text(form.subject);
  if (form.text > 0) message.text = form.kind == Kind::kNegMsg ? reader.Text(form.text) : reader.TextIfAny(form.text);
  if (form.kind == Kind::kOk) message.accepted = reader.Bool(2);
  if (form.kind == Kind::kEvent) message.event = reader.Object(2);
  if (reader.failed()) return wrong();
  return message;
}

}  // namespace weir
