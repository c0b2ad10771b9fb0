// A second implementation of NIP-01, slow and simple, to compare the fast code with: a JSON tree, an event that is read
// from it, a filter that is a list of conditions. Shares no code with relay/nostr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

struct JsonTree {
  enum Type { kWord, kString, kArray, kObject };
  Type type = kWord;
  std::string raw;       // words and strings: as it was written, with quotes
  std::string text;      // strings: the meaning
  std::string name_raw;  // members of an object: the name, in both forms
  std::string name;
  std::vector<JsonTree> items;  // for arrays and objects
};

// Returns nullopt if the text is not JSON, or if it is nested more deeply than the unknown fields of an event may be.
std::optional<JsonTree> ReadJsonTree(std::string_view text);
// Returns true for a number without sign, point, exponent and leading zeros.
bool IsWholeNumber(std::string_view text);
// Returns the text without white space; strings and words are as they were written.
std::string MinimalText(const JsonTree& tree);

struct ReferenceEvent {
  std::string id;  // the id in the JSON, which may be wrong
  std::string pubkey;
  uint64_t created_at = 0;
  uint64_t kind = 0;
  std::vector<std::vector<std::string>> tags;
  std::string content;
  std::string sig;
  std::string minimal_json;
  std::vector<std::string> true_ids;  // with control characters as \u001f, and as themselves

  bool HasItsId() const { return id == true_ids[0] || id == true_ids[1]; }
};

// Returns nullopt if the JSON is not an event. Does not check the id.
std::optional<ReferenceEvent> ReadReferenceEvent(std::string_view json);

std::string CanonicalText(const ReferenceEvent& event, bool controls_escaped);
std::string CanonicalText(const JsonTree& tree, bool controls_escaped);
std::string HexOfSha256(std::string_view text);

struct ReferenceFilter {
  std::optional<std::vector<std::string>> ids;
  std::optional<std::vector<std::string>> authors;
  std::optional<std::vector<uint64_t>> kinds;
  std::vector<std::pair<char, std::vector<std::string>>> tags;
  std::optional<uint64_t> since;
  std::optional<uint64_t> until;
  std::optional<uint64_t> limit;

  bool Matches(const ReferenceEvent& event) const;
};
// Returns nullopt if the JSON is not a filter that this relay accepts.
std::optional<ReferenceFilter> ReadReferenceFilter(const JsonTree& tree);

}  // namespace weir
