// An event as everything behind the parser knows it: one immutable string, the record.
//
// The record is what the store keeps, what filters match and what subscribers are sent: a fixed head, the tags that can
// be asked for, and the event's JSON in minimal form. Nothing is parsed or written twice on an event's way.
//
//   id 32 | pubkey 32 | created_at 8 | expiration 8 | kind 2 | flags 2 | signature's place in the JSON 4 | tag bytes 4
//   | tags: { letter 1 | length 4 | value } … | JSON
//
// Numbers are little-endian. A tag is in the record if its name is one letter (a-z, A-Z) and it has a value; the value
// is as JSON means it, without escapes. Records are made by EventParser alone (event_parser.h), which also checked id
// and shape; the signature is checked by VerifySignature.
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

struct TagView {
  char letter;
  std::string_view value;
};

// How NIP-01 stores a kind.
enum class KindClass : uint8_t { kRegular, kReplaceable, kEphemeral, kAddressable };
KindClass ClassOf(uint16_t kind);
// Whether a newer event takes the place of an older one of the same author.
inline bool HasAddress(uint16_t kind) {
  const KindClass kind_class = ClassOf(kind);
  return kind_class == KindClass::kReplaceable || kind_class == KindClass::kAddressable;
}

// Where the parts of a record's head begin.
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
  static constexpr size_t kTagHead = 5;      // letter and length
  static constexpr uint16_t kProtected = 1;  // a flag
};

// Reads a record that somebody else keeps alive. Copies are cheap.
class EventView {
 public:
  // One pass over the tags, in the order of the event.
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
  // For records that come from a disk: false if lengths do not fit together.
  static bool WellFormed(std::string_view record);

  const EventId& id() const { return *reinterpret_cast<const EventId*>(record_.data()); }
  const PublicKey& pubkey() const { return *reinterpret_cast<const PublicKey*>(record_.data() + 32); }
  // Seconds since 1970.
  uint64_t created_at() const { return Head<uint64_t>(RecordLayout::kCreatedAt); }
  // The same; 0: never (NIP-40). An event that names the moment 0 has 1.
  uint64_t expiration() const { return Head<uint64_t>(RecordLayout::kExpiration); }
  uint16_t kind() const { return Head<uint16_t>(RecordLayout::kKind); }
  // Has the tag ["-"] (NIP-70).
  bool is_protected() const { return (Head<uint16_t>(RecordLayout::kFlags) & RecordLayout::kProtected) != 0; }
  Signature signature() const;
  TagRange tags() const {
    return TagRange(record_.substr(RecordLayout::kTags, Head<uint32_t>(RecordLayout::kTagBytes)));
  }
  // The value of the first tag with this letter; data() is null where there is none.
  std::string_view FirstTag(char letter) const;
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

// Owns its record, shared between all copies. Safe to read from many threads.
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

// All tags with this name, of any length, each with all its items, the name first: from the event's JSON, the slow way,
// for the few kinds whose meaning is in such tags (AUTH, vanish, proof of work).
std::vector<std::vector<std::string>> TagsNamed(EventView event, std::string_view name);

}  // namespace weir
