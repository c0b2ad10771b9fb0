// Events as a test writes them: plain fields, from which id, JSON and record follow. Signatures are made up: the store
// does not look at them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/nostr/event.h"

namespace weir {

using Tag = std::vector<std::string>;

// Ids and keys in hexadecimal, which sorts as their bytes do.
struct PlainEvent {
  std::string pubkey;
  uint64_t created_at = 0;
  uint16_t kind = 1;
  std::vector<Tag> tags;
  std::string content;
  std::string id;

  const std::string* FirstTag(const std::string& name) const;  // null where there is none with a value
};

// A key for a small number.
std::string Author(uint64_t number);

// With its id.
PlainEvent Plain(const std::string& pubkey, uint64_t created_at, uint16_t kind, std::vector<Tag> tags = {},
                 std::string content = "");
std::string JsonOf(const PlainEvent& event);
Event ToEvent(const PlainEvent& event);
Bytes32 ToBytes(const std::string& hex);

}  // namespace weir
