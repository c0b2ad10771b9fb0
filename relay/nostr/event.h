// An event in the form that all code behind the parser uses: one immutable string, the record.
//
// The store keeps the record, filters match it and subscribers are sent from it: a fixed head, the tags that filters
// can ask for, and the event's JSON in minimal form. On its way through the relay an event is parsed once and written
// once.
//
//   id 32 | pubkey 32 | created_at 8 | expiration 8 | kind 2 | flags 2 | signature's place in the JSON 4 | tag bytes 4
//   | tags: { letter 1 | length 4 | value } … | JSON
//
// Numbers are little-endian. The record has a tag if its name is one letter (a-z, A-Z) and it has a value; the value is
// the text that the JSON stands for, without escapes. Only EventParser makes records (event_parser.h); it has checked
// id and shape. VerifySignature checks the signature.
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

// How NIP-01 stores events of a kind.
enum class KindClass : uint8_t { kRegular, kReplaceable, kEphemeral, kAddressable };
KindClass ClassOf(uint16_t kind);
// Returns true if a newer event replaces an older one of the same author.
inline bool HasAddress(uint16_t kind) {
  const KindClass kind_class = ClassOf(kind);
  return kind_class == KindClass::kReplaceable || kind_class == KindClass::kAddressable;
}

// Offsets of the fields in a record's head.
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

// Reads a record that the caller keeps alive. Copies are cheap.
class EventView {
 public:
  // Passes over the tags once, in the order of the event.
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
  // Returns false if the lengths in a record do not fit together. For records read from disk.
  static bool WellFormed(std::string_view record);

  const EventId& id() const { return *reinterpret_cast<const EventId*>(record_.data()); }
  const PublicKey& pubkey() const { return *reinterpret_cast<const PublicKey*>(record_.data() + 32); }
  // Seconds since 1970.
  uint64_t created_at() const { return Head<uint64_t>(RecordLayout::kCreatedAt); }
  // Seconds since 1970; 0: never expires (NIP-40). An event that names the moment 0 has 1 here.
  uint64_t expiration() const { return Head<uint64_t>(RecordLayout::kExpiration); }
  uint16_t kind() const { return Head<uint16_t>(RecordLayout::kKind); }
  // Returns true if the event has the tag ["-"] (NIP-70).
  bool is_protected() const { return (Head<uint16_t>(RecordLayout::kFlags) & RecordLayout::kProtected) != 0; }
  Signature signature() const;
  TagRange tags() const {
    return TagRange(record_.substr(RecordLayout::kTags, Head<uint32_t>(RecordLayout::kTagBytes)));
  }
  // Returns the value of the first tag with this letter; data() is null if there is none.
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

// Returns all tags with this name, of any length, each with all its items, the name first. Reads the event's JSON,
// which is slow: only for the few kinds whose meaning is in such tags (AUTH, vanish, proof of work).
std::vector<std::vector<std::string>> TagsNamed(EventView event, std::string_view name);

}  // namespace weir
