// Event: a Nostr event. After parsing, all code uses it in the form of one immutable string, the record.
//
// The store saves the record, filters are matched against it, and the relay sends the JSON in it to subscribers. A
// record has a fixed head, then the tags that filters can ask for, then the event's JSON in minimal form
// (event_parser.h). So the relay hardly ever parses an event again, and never writes its JSON again.
//
//   id 32 | pubkey 32 | created_at 8 | expiration 8 | kind 2 | flags 2 | signature's offset in the JSON 4 | tag bytes 4
//   | tags: { letter 1 | length 4 | value } … | JSON
//
// The numbers above are sizes in bytes. Integers in a record are little-endian. The record has only those tags of the
// event that have a value and a name of one letter (a-z, A-Z). Their values are unescaped (JSON's escapes are replaced
// by their characters). Only EventParser makes records. Before that, it checks the form and the id of the event, but
// not the signature; VerifySignature (signature.h) checks the signature.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "config/text/hex.h"

namespace weir {

static_assert(std::endian::native == std::endian::little, "records are read in place");

using Bytes32 = std::array<uint8_t, 32>;
using EventId = Bytes32;
using PublicKey = Bytes32;
using Signature = std::array<uint8_t, 64>;

// One tag of a record. `value` points into the record.
struct TagView {
  char letter;
  std::string_view value;
};

// The four classes of kinds in NIP-01. They determine which events a relay stores: every regular event; only the newest
// replaceable event of each author and kind; only the newest addressable event of each author, kind and value of the
// "d" tag; and no ephemeral event.
enum class KindClass : uint8_t { kRegular, kReplaceable, kEphemeral, kAddressable };
KindClass ClassOf(uint16_t kind);
// Returns true if `kind` is replaceable or addressable. A newer event of such a kind replaces the older event at the
// same address. The address is the author and the kind and, for addressable kinds, the value of the "d" tag.
inline bool HasAddress(uint16_t kind) {
  const KindClass kind_class = ClassOf(kind);
  return kind_class == KindClass::kReplaceable || kind_class == KindClass::kAddressable;
}

// Offsets of the fields in a record's head, in bytes, and other constants of its format.
struct RecordLayout {
  static constexpr size_t kId = 0;
  static constexpr size_t kPubkey = 32;
  static constexpr size_t kCreatedAt = 64;
  static constexpr size_t kExpiration = 72;
  static constexpr size_t kKind = 80;
  static constexpr size_t kFlags = 82;
  static constexpr size_t kSignature = 84;
  static constexpr size_t kTagBytes = 88;
  static constexpr size_t kTags = 92;
  static constexpr size_t kTagHead = 5;      // bytes of a tag's letter and length
  static constexpr uint16_t kProtected = 1;  // the bit of the flags that is set if the event has the tag ["-"]
};

// EventView: reads a record that the caller keeps alive and unchanged. The record must be well-formed (WellFormed
// below); the view does not check that. Returned views and references point into the record. Copies are cheap.
class EventView {
 public:
  // Visits the tags of a record, in the same order as in the event.
  class TagIterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = TagView;
    using difference_type = std::ptrdiff_t;
    using pointer = const TagView*;
    using reference = TagView;

    TagIterator() = default;
    explicit TagIterator(const char* at) : at_(at) {}
    TagView operator*() const { return {*at_, {at_ + RecordLayout::kTagHead, size()}}; }
    TagIterator& operator++() {
      at_ += RecordLayout::kTagHead + size();
      return *this;
    }
    TagIterator operator++(int) {
      const TagIterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const TagIterator&) const = default;

   private:
    uint32_t size() const { return Load<uint32_t>(at_ + 1); }
    const char* at_ = nullptr;
  };
  class TagRange {
   public:
    explicit TagRange(std::string_view bytes) : bytes_(bytes) {}
    TagIterator begin() const { return TagIterator(bytes_.data()); }
    TagIterator end() const { return TagIterator(bytes_.data() + bytes_.size()); }
    bool empty() const { return bytes_.empty(); }

   private:
    std::string_view bytes_;
  };

  explicit EventView(std::string_view record) : record_(record) {}
  // Returns true if the lengths in `record` are consistent, so that a view of it reads no bytes outside it. Meant for
  // records that were read from disk. Does not parse the JSON, and does not check the id or the signature.
  static bool WellFormed(std::string_view record);

  const EventId& id() const { return *reinterpret_cast<const EventId*>(record_.data()); }
  const PublicKey& pubkey() const { return *reinterpret_cast<const PublicKey*>(record_.data() + 32); }
  // Returns the seconds since 1970.
  uint64_t created_at() const { return Head<uint64_t>(RecordLayout::kCreatedAt); }
  // Returns the time at which the event expires (NIP-40), in seconds since 1970; 0 if it never expires. An expiration
  // tag with the value 0 counts as 1.
  uint64_t expiration() const { return Head<uint64_t>(RecordLayout::kExpiration); }
  uint16_t kind() const { return Head<uint16_t>(RecordLayout::kKind); }
  // Returns true if the event has the tag ["-"] (NIP-70).
  bool is_protected() const { return (Head<uint16_t>(RecordLayout::kFlags) & RecordLayout::kProtected) != 0; }
  Signature signature() const;
  TagRange tags() const {
    return TagRange(record_.substr(RecordLayout::kTags, Head<uint32_t>(RecordLayout::kTagBytes)));
  }
  // Returns the value of the first tag with this letter. If there is no such tag, the result is empty and its data() is
  // null; if the tag's value is empty, data() is not null.
  std::string_view FirstTag(char letter) const;
  // Returns the event's JSON in minimal form.
  std::string_view json() const {
    return record_.substr(RecordLayout::kTags + Head<uint32_t>(RecordLayout::kTagBytes));
  }
  std::string_view record() const { return record_; }

 private:
  template <typename Number>
  static Number Load(const char* bytes) {
    Number number;
    std::memcpy(&number, bytes, sizeof(number));
    return number;
  }
  template <typename Number>
  Number Head(size_t offset) const {
    return Load<Number>(record_.data() + offset);
  }

  std::string_view record_;
};

// Event: shares the ownership of a record with its copies. Many threads may read it at once. The record must not be
// null.
class Event {
 public:
  explicit Event(std::string record) : record_(std::make_shared<const std::string>(std::move(record))) {}
  explicit Event(std::shared_ptr<const std::string> record) : record_(std::move(record)) {}

  EventView view() const { return EventView(*record_); }
  const std::shared_ptr<const std::string>& record() const { return record_; }

 private:
  std::shared_ptr<const std::string> record_;
};

inline std::string ToHex(const Bytes32& bytes) { return ToHex(bytes.data(), bytes.size()); }

// Returns all tags named `name`, each with all its items; the first item is the name. The items are unescaped. The name
// may be longer than one letter. This function parses the event's JSON, which is slow, so call it only for the few
// events that need such tags (AUTH, requests to vanish, proof of work).
std::vector<std::vector<std::string>> TagsNamed(EventView event, std::string_view name);

}  // namespace weir
