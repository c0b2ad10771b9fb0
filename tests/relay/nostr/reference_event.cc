#include "tests/relay/nostr/reference_event.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

namespace weir {
namespace {

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t size = byte < 0x80 ? 1 : byte >> 5 == 6 ? 2 : byte >> 4 == 14 ? 3 : byte >> 3 == 30 ? 4 : 0;
    if (size == 0 || i + size > text.size()) return false;
    uint32_t code = size == 1 ? byte : byte & (0x7FU >> size);
    for (size_t k = 1; k < size; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3FU);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    i += size;
  }
  return true;
}

std::string Utf8(uint32_t code) {
  std::string out;
  if (code < 0x80) return {static_cast<char>(code)};
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out.push_back(static_cast<char>(kLead[more] | code >> (6 * more)));
  while (more-- > 0) out.push_back(static_cast<char>(0x80 | (code >> (6 * more) & 0x3F)));
  return out;
}

struct NotJson {};

// The depth of the value of an event's field, and 32 beyond it.
constexpr int kDeepest = 33;

class TreeReader {
 public:
  explicit TreeReader(std::string_view text) : rest_(text) {}

  JsonTree ReadAll() {
    JsonTree tree = Read(0);
    Space();
    if (!rest_.empty()) throw NotJson{};
    return tree;
  }

 private:
  char Next() {
    if (rest_.empty()) throw NotJson{};
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void Space() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos) Next();
  }
  bool Is(char c) {
    Space();
    return !rest_.empty() && rest_.front() == c;
  }
  void Need(char c) {
    Space();
    if (Next() != c) throw NotJson{};
  }

  JsonTree Read(int depth) {
    if (depth > kDeepest) throw NotJson{};
    if (Is('"')) return ReadString();
    if (Is('[')) return ReadItems(JsonTree::kArray, '[', ']', depth);
    if (Is('{')) return ReadItems(JsonTree::kObject, '{', '}', depth);
    JsonTree tree;
    for (const std::string_view word : {"true", "false", "null"})
      if (rest_.starts_with(word)) tree.raw = word;
    if (tree.raw.empty()) tree.raw = rest_.substr(0, NumberSize());
    rest_.remove_prefix(tree.raw.size());
    return tree;
  }

  // -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? by hand: std::regex calls itself for each digit.
  size_t NumberSize() const {
    size_t at = 0;
    const auto is = [&](std::string_view some) { return at < rest_.size() && some.find(rest_[at]) != some.npos; };
    const auto digits = [&] {
      if (!is("0123456789")) throw NotJson{};
      while (is("0123456789")) ++at;
    };
    if (is("-")) ++at;
    if (is("0")) {
      ++at;
    } else {
      digits();
    }
    if (is(".")) {
      ++at;
      digits();
    }
    if (is("eE")) {
      ++at;
      if (is("+-")) ++at;
      digits();
    }
    return at;
  }

  JsonTree ReadItems(JsonTree::Type type, char open, char close, int depth) {
    JsonTree tree;
    tree.type = type;
    Need(open);
    if (Is(close)) return Need(close), tree;
    while (true) {
      JsonTree name;
      if (type == JsonTree::kObject) {
        if (!Is('"')) throw NotJson{};
        name = ReadString();
        Need(':');
      }
      tree.items.push_back(Read(depth + 1));
      tree.items.back().name_raw = name.raw;
      tree.items.back().name = name.text;
      if (Is(close)) return Need(close), tree;
      Need(',');
    }
  }

  uint32_t Hex4() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = Next();
      const size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
      if (digit == std::string_view::npos) throw NotJson{};
      code = code * 16 + static_cast<uint32_t>(digit > 15 ? digit - 6 : digit);
    }
    return code;
  }

  std::string ReadEscape() {
    const char c = Next();
    const size_t plain = std::string_view("\"\\/bfnrt").find(c);
    if (plain != std::string_view::npos) return {"\"\\/\b\f\n\r\t"[plain]};
    if (c != 'u') throw NotJson{};
    const uint32_t code = Hex4();
    if (code == 0 || (code >= 0xDC00 && code < 0xE000)) throw NotJson{};
    if (code < 0xD800 || code >= 0xE000) return Utf8(code);
    if (Next() != '\\' || Next() != 'u') throw NotJson{};
    const uint32_t low = Hex4();
    if (low < 0xDC00 || low >= 0xE000) throw NotJson{};
    return Utf8(0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00));
  }

  JsonTree ReadString() {
    JsonTree tree;
    tree.type = JsonTree::kString;
    const char* const begin = rest_.data();
    Need('"');
    while (true) {
      const char c = Next();
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) throw NotJson{};
      tree.text += c == '\\' ? ReadEscape() : std::string{c};
    }
    tree.raw = std::string(begin, rest_.data());
    return tree;
  }

  std::string_view rest_;
};

std::string QuotedText(std::string_view text, bool controls_escaped) {
  std::string out = "\"";
  for (char c : text) {
    const size_t known = std::string_view("\"\\\b\f\n\r\t").find(c);
    if (known != std::string_view::npos) {
      out += '\\';
      out += "\"\\bfnrt"[known];
    } else if (static_cast<unsigned char>(c) < 0x20 && controls_escaped) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::optional<uint64_t> Number(const JsonTree& tree, uint64_t most) {
  constexpr size_t kMostDigits = 19;
  if (tree.type != JsonTree::kWord || !IsWholeNumber(tree.raw) || tree.raw.size() > kMostDigits) return std::nullopt;
  const uint64_t number = std::stoull(tree.raw);
  if (number > most) return std::nullopt;
  return number;
}

// Reads exactly this many digits, none of them written as an escape.
std::optional<std::string> Hex(const JsonTree& tree, size_t digits) {
  if (tree.type != JsonTree::kString || tree.text.size() != digits) return std::nullopt;
  if (tree.raw != "\"" + tree.text + "\"") return std::nullopt;
  if (tree.text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return tree.text;
}

std::optional<std::vector<std::vector<std::string>>> Tags(const JsonTree& tree) {
  if (tree.type != JsonTree::kArray) return std::nullopt;
  std::vector<std::vector<std::string>> tags;
  for (const JsonTree& tag : tree.items) {
    if (tag.type != JsonTree::kArray || tag.items.empty()) return std::nullopt;
    tags.emplace_back();
    for (const JsonTree& item : tag.items) {
      if (item.type != JsonTree::kString) return std::nullopt;
      tags.back().push_back(item.text);
    }
  }
  return tags;
}

bool ReadFields(JsonTree* tree, ReferenceEvent* event) {
  const std::vector<std::string> known = {"id", "pubkey", "created_at", "kind", "tags", "content", "sig"};
  std::vector<std::string> seen;
  std::erase_if(tree->items, [&](const JsonTree& field) {
    return std::find(known.begin(), known.end(), field.name) == known.end();
  });
  for (const JsonTree& value : tree->items) {
    const std::string& name = value.name;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return false;
    seen.push_back(name);
    const auto take = [](auto optional, auto* target) {
      if (optional) *target = *optional;
      return optional.has_value();
    };
    if (name == "id" && !take(Hex(value, 64), &event->id)) return false;
    if (name == "pubkey" && !take(Hex(value, 64), &event->pubkey)) return false;
    if (name == "sig" && !take(Hex(value, 128), &event->sig)) return false;
    if (name == "created_at" && !take(Number(value, INT64_MAX), &event->created_at)) return false;
    if (name == "kind" && !take(Number(value, 65535), &event->kind)) return false;
    if (name == "tags" && !take(Tags(value), &event->tags)) return false;
    if (name == "content" && value.type != JsonTree::kString) return false;
    if (name == "content") event->content = value.text;
  }
  return seen.size() == known.size();
}

// Returns the items of an array if all of them can be read.
template <typename Value, typename Read>
std::optional<std::vector<Value>> ListOf(const JsonTree& tree, Read read) {
  if (tree.type != JsonTree::kArray) return std::nullopt;
  std::vector<Value> values;
  for (const JsonTree& item : tree.items) {
    const std::optional<Value> value = read(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// A number that is too large for 64 bits means the largest.
std::optional<uint64_t> AnyNumber(const JsonTree& tree) {
  if (tree.type != JsonTree::kWord || !IsWholeNumber(tree.raw)) return std::nullopt;
  return std::strtoull(tree.raw.c_str(), nullptr, 10);
}

bool ReadFilterField(const JsonTree& field, ReferenceFilter* filter) {
  const std::string& name = field.name;
  const auto hash = [](const JsonTree& item) { return Hex(item, 64); };
  const auto text = [](const JsonTree& item) {
    return item.type == JsonTree::kString ? std::optional(item.text) : std::nullopt;
  };
  const auto kind = [](const JsonTree& item) { return Number(item, 65535); };
  if (name == "ids") return (filter->ids = ListOf<std::string>(field, hash)).has_value();
  if (name == "authors") return (filter->authors = ListOf<std::string>(field, hash)).has_value();
  if (name == "kinds") return (filter->kinds = ListOf<uint64_t>(field, kind)).has_value();
  if (name == "since") return (filter->since = AnyNumber(field)).has_value();
  if (name == "until") return (filter->until = AnyNumber(field)).has_value();
  if (name == "limit") return (filter->limit = AnyNumber(field)).has_value();
  if (name.size() != 2 || name[0] != '#' || std::isalpha(static_cast<unsigned char>(name[1])) == 0) return false;
  const bool has_hashes = name[1] == 'e' || name[1] == 'p';
  const auto values = has_hashes ? ListOf<std::string>(field, hash) : ListOf<std::string>(field, text);
  if (values) filter->tags.emplace_back(name[1], *values);
  return values.has_value();
}

template <typename List, typename Value>
bool Contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

std::optional<JsonTree> ReadJsonTree(std::string_view text) {
  if (!IsUtf8(text)) return std::nullopt;
  try {
    return TreeReader(text).ReadAll();
  } catch (const NotJson&) {
    return std::nullopt;
  }
}

bool IsWholeNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos && (text[0] != '0' || text.size() == 1);
}

std::string MinimalText(const JsonTree& tree) {
  if (tree.type == JsonTree::kWord || tree.type == JsonTree::kString) return tree.raw;
  const bool object = tree.type == JsonTree::kObject;
  std::string text;
  for (const JsonTree& item : tree.items) {
    if (!text.empty()) text += ",";
    if (object) text += item.name_raw + ":";
    text += MinimalText(item);
  }
  return object ? "{" + text + "}" : "[" + text + "]";
}

std::optional<ReferenceEvent> ReadReferenceEvent(std::string_view json) {
  std::optional<JsonTree> tree = ReadJsonTree(json);
  if (!tree || tree->type != JsonTree::kObject) return std::nullopt;
  ReferenceEvent event;
  if (!ReadFields(&*tree, &event)) return std::nullopt;
  event.minimal_json = MinimalText(*tree);
  event.true_ids = {HexOfSha256(CanonicalText(event, true)), HexOfSha256(CanonicalText(event, false))};
  return event;
}

std::string CanonicalText(const ReferenceEvent& event, bool controls_escaped) {
  std::string tags;
  for (const auto& tag : event.tags) {
    std::string items;
    for (const std::string& item : tag) items += (items.empty() ? "" : ",") + QuotedText(item, controls_escaped);
    tags += (tags.empty() ? "[" : ",[") + items + "]";
  }
  return "[0,\"" + event.pubkey + "\"," + std::to_string(event.created_at) + "," + std::to_string(event.kind) + ",[" +
         tags + "]," + QuotedText(event.content, controls_escaped) + "]";
}

std::string CanonicalText(const JsonTree& tree, bool controls_escaped) {
  if (tree.type == JsonTree::kWord) return tree.raw;
  if (tree.type == JsonTree::kString) return QuotedText(tree.text, controls_escaped);
  const bool object = tree.type == JsonTree::kObject;
  std::string text;
  for (const JsonTree& item : tree.items) {
    if (!text.empty()) text += ",";
    if (object) text += QuotedText(item.name, controls_escaped) + ":";
    text += CanonicalText(item, controls_escaped);
  }
  return object ? "{" + text + "}" : "[" + text + "]";
}

std::string HexOfSha256(std::string_view text) {
  unsigned char hash[32];
  EVP_Digest(text.data(), text.size(), hash, nullptr, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned char byte : hash) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  return hex;
}

std::optional<ReferenceFilter> ReadReferenceFilter(const JsonTree& tree) {
  if (tree.type != JsonTree::kObject) return std::nullopt;
  ReferenceFilter filter;
  std::set<std::string> seen;
  for (const JsonTree& field : tree.items)
    if (!seen.insert(field.name).second || !ReadFilterField(field, &filter)) return std::nullopt;
  return filter;
}

bool ReferenceFilter::Matches(const ReferenceEvent& event) const {
  if (ids && !Contains(*ids, event.id)) return false;
  if (authors && !Contains(*authors, event.pubkey)) return false;
  if (kinds && !Contains(*kinds, event.kind)) return false;
  if (since && event.created_at < *since) return false;
  if (until && event.created_at > *until) return false;
  for (const auto& [letter, values] : tags) {
    bool met = false;
    for (const auto& tag : event.tags) {
      met = met || (tag.size() > 1 && tag[0] == std::string{letter} && Contains(values, tag[1]));
    }
    if (!met) return false;
  }
  return true;
}

}  // namespace weir
