#include "tests/relay/store/index_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "rocksdb/db.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {
namespace {

using Entries = std::map<std::string, std::string>;

std::string BigEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  return text;
}

std::string Unhex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string Hash(const std::string& text, size_t bytes) { return Unhex(HexOfSha256(text)).substr(0, bytes); }

bool IsLetter(const std::string& name) {
  return name.size() == 1 && ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'));
}

void AddEntriesOf(const ReferenceEvent& event, uint64_t number, Entries* entries) {
  const std::string id = Unhex(event.id);
  const std::string author = Unhex(event.pubkey);
  const std::string time = BigEndian(UINT64_MAX - event.created_at, 8);
  const std::string serial = BigEndian(number, 6);
  const std::string kind = BigEndian(event.kind, 2);
  const std::string id4 = id.substr(0, 4);
  const std::string by4 = author.substr(0, 4);
  const bool replaceable = event.kind == 0 || event.kind == 3 || (event.kind >= 10000 && event.kind < 20000);
  const bool addressable = event.kind >= 30000 && event.kind < 40000;
  Entries& e = *entries;
  e["i" + id] = time + serial;
  e["a" + author.substr(0, 8) + kind + time + id4 + serial] = "";
  e["k" + kind + time + id4 + by4 + serial] = "";
  e["c" + time + id4 + kind + by4 + serial] = "";
  const std::string* d = nullptr;
  const std::string* expiration = nullptr;
  for (const std::vector<std::string>& tag : event.tags) {
    if (tag.size() < 2) continue;
    if (IsLetter(tag[0])) {
      std::string key = "t" + tag[0] + Hash(tag[1], 8);
      key.append(kind).append(time).append(id4).append(by4).append(serial);
      e[key] = "";
    }
    if (tag[0] == "d" && d == nullptr) d = &tag[1];
    if (tag[0] == "expiration" && expiration == nullptr) expiration = &tag[1];
  }
  if (replaceable || addressable)
    e["d" + Hash(kind + author + (addressable && d != nullptr ? *d : ""), 16)] = time + id4 + serial;
  if (expiration != nullptr) e["x" + BigEndian(std::max<uint64_t>(1, std::stoull(*expiration)), 8) + serial] = "";
}

// Reads only what the index knows. The whole reading, which checks ids and forms, costs too much for large stores.
std::optional<ReferenceEvent> ReadFields(std::string_view json) {
  const std::optional<JsonTree> tree = ReadJsonTree(json);
  if (!tree || tree->type != JsonTree::kObject) return std::nullopt;
  ReferenceEvent event;
  for (const JsonTree& field : tree->items) {
    if (field.name == "id") event.id = field.text;
    if (field.name == "pubkey") event.pubkey = field.text;
    if (field.name == "created_at") event.created_at = std::stoull(field.raw);
    if (field.name == "kind") event.kind = std::stoull(field.raw);
    if (field.name != "tags") continue;
    for (const JsonTree& tag : field.items) {
      event.tags.emplace_back();
      for (const JsonTree& item : tag.items) event.tags.back().push_back(item.text);
    }
  }
  return event.id.empty() ? std::nullopt : std::optional(event);
}

// The JSON stands at the record's end, behind head and tags, which may have braces too.
std::optional<ReferenceEvent> EventIn(const std::string& record) {
  for (size_t at = record.find('{'); at != std::string::npos; at = record.find('{', at + 1)) {
    if (auto event = ReadFields(std::string_view(record).substr(at))) return event;
  }
  return std::nullopt;
}

Entries All(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(options, family));
  Entries entries;
  for (at->SeekToFirst(); at->Valid(); at->Next()) entries[at->key().ToString()] = at->value().ToString();
  EXPECT_TRUE(at->status().ok());
  return entries;
}

}  // namespace

std::string IndexDifference(const RocksDbStore& store) {
  Entries events;
  Entries index;
  for (rocksdb::ColumnFamilyHandle* family : store.families()) {
    if (family->GetName() == "events") events = All(store.db(), family);
    if (family->GetName() == "index") index = All(store.db(), family);
  }
  std::erase_if(index, [](const auto& entry) {
    return std::string_view("iatkcdx").find(entry.first[0]) == std::string_view::npos;
  });
  Entries expected;
  for (const auto& [key, record] : events) {
    uint64_t serial = 0;
    for (const char byte : key) serial = serial << 8 | static_cast<uint8_t>(byte);
    const auto event = EventIn(record);
    if (!event) return "no event under " + std::to_string(serial);
    AddEntriesOf(*event, serial, &expected);
  }
  std::string text;
  int told = 0;
  for (const auto& [key, value] : expected) {
    const auto found = index.find(key);
    if (found == index.end() && told++ < 5) text += std::string("missing: ") + key[0] + "\n";
    if (found != index.end() && found->second != value && told++ < 5)
      text += std::string("other value: ") + key[0] + "\n";
  }
  for (const auto& [key, value] : index)
    if (!expected.contains(key) && told++ < 5) text += std::string("stray: ") + key[0] + "\n";
  return text;
}

}  // namespace weir
