#include "relay/store/keys.h"

#include <charconv>

#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr size_t kTimeBytes = 8;

// Returns the length of the part of a key that is in the bloom filters.
size_t FilterBytes(const rocksdb::Slice& key) {
  const auto at_most = [&key](size_t size) { return key.size() < size ? key.size() : size; };
  switch (key.empty() ? '\0' : key[0]) {
    case 'a':
      return at_most(1 + 8);
    case 't':
      return at_most(1 + 1 + 8);
    case 'k':
      return at_most(1 + 2);
    case 'c':
    case 'x':
    case 'w':
      return 1;
    default:
      return key.size();
  }
}

class IndexPrefix final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "weir.index.1"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override { return {key.data(), FilterBytes(key)}; }
  bool InDomain(const rocksdb::Slice& key) const override { return !key.empty(); }
};

}  // namespace

Address AddressOf(uint16_t kind, const PublicKey& author, std::string_view d) {
  std::string name;
  name.reserve(2 + author.size() + d.size());
  name.push_back(static_cast<char>(kind >> 8));
  name.push_back(static_cast<char>(kind & 0xff));
  name.append(reinterpret_cast<const char*>(author.data()), author.size());
  name.append(d);
  const Bytes32 hash = Sha256(name);
  Address address;
  std::memcpy(address.data(), hash.data(), address.size());
  return address;
}

Address AddressOf(EventView event) {
  const bool has_d = ClassOf(event.kind()) == KindClass::kAddressable;
  return AddressOf(event.kind(), event.pubkey(), has_d ? event.FirstTag('d') : std::string_view());
}

std::optional<NamedAddress> ParseAddress(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 5) return std::nullopt;
  NamedAddress address;
  const auto [end, error] = std::from_chars(text.data(), text.data() + colon, address.kind);
  if (error != std::errc() || end != text.data() + colon || !HasAddress(address.kind)) return std::nullopt;
  text.remove_prefix(colon + 1);
  if (text.size() < 65 || text[64] != ':') return std::nullopt;
  if (!FromHex(text.substr(0, 64), address.author.data(), address.author.size())) return std::nullopt;
  address.d = text.substr(65);
  // A replaceable event has no "d" value, so an address of its kind with such a value is not valid.
  if (ClassOf(address.kind) == KindClass::kReplaceable && !address.d.empty()) return std::nullopt;
  return address;
}

uint64_t TagHash(std::string_view value) {
  const Bytes32 hash = Sha256(value);
  return ReadNumber(reinterpret_cast<const char*>(hash.data()), 8);
}

bool ReadEntry(std::string_view key, size_t range_size, IndexEntry* entry) {
  if (key.size() < range_size + kTimeBytes + 4 + kSerialBytes) return false;
  const char* in = key.data() + range_size;
  entry->inverted_time = ReadNumber(in, kTimeBytes);
  entry->id = static_cast<uint32_t>(ReadNumber(in + 8, 4));
  entry->serial = ReadNumber(key.data() + key.size() - kSerialBytes, kSerialBytes);
  const size_t rest = key.size() - range_size - kTimeBytes - 4 - kSerialBytes;
  switch (key[0]) {
    case 'a':
      entry->kind = static_cast<uint16_t>(ReadNumber(in - 2, 2));
      entry->by = static_cast<uint32_t>(ReadNumber(key.data() + 1, 4));
      return rest == 0;
    case 't':
    case 'k':
      entry->kind = static_cast<uint16_t>(ReadNumber(in - 2, 2));
      entry->by = static_cast<uint32_t>(ReadNumber(in + 12, 4));
      return rest == 4;
    case 'c':
      if (rest != 6) return false;
      entry->kind = static_cast<uint16_t>(ReadNumber(in + 12, 2));
      entry->by = static_cast<uint32_t>(ReadNumber(in + 14, 4));
      return true;
    default:
      return false;
  }
}

bool ReadIdValue(std::string_view value, IndexEntry* entry) {
  if (value.size() != kTimeBytes + kSerialBytes) return false;
  entry->inverted_time = ReadNumber(value.data(), kTimeBytes);
  entry->serial = ReadNumber(value.data() + kTimeBytes, kSerialBytes);
  return true;
}

bool ReadAddressValue(std::string_view value, IndexEntry* entry) {
  if (value.size() != kTimeBytes + 4 + kSerialBytes) return false;
  entry->inverted_time = ReadNumber(value.data(), kTimeBytes);
  entry->id = static_cast<uint32_t>(ReadNumber(value.data() + kTimeBytes, 4));
  entry->serial = ReadNumber(value.data() + kTimeBytes + 4, kSerialBytes);
  return true;
}

std::string WriteCounters(const Counters& counters) {
  Key value('\0');
  value.Number(counters.events, 8).Number(counters.last_serial, 8);
  return std::string(value.view().substr(1));
}

bool ReadCounters(std::string_view value, Counters* counters) {
  if (value.size() != 16) return false;
  counters->events = ReadNumber(value.data(), 8);
  counters->last_serial = ReadNumber(value.data() + 8, 8);
  return counters->last_serial <= kLastSerial && counters->events <= counters->last_serial;
}

std::shared_ptr<const rocksdb::SliceTransform> NewIndexPrefix() { return std::make_shared<IndexPrefix>(); }

}  // namespace weir
