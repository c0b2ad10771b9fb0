#include "relay/standing/standing_snapshot.h"

#include <cerrno>
#include <cstring>

#include "config/replace_file.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr std::string_view kMagic = "weir standing 1\n";
constexpr size_t kKeySize = sizeof(PublicKey);
constexpr size_t kRecordSize = 28;
constexpr size_t kEntrySize = kKeySize + kRecordSize;
constexpr size_t kHashSize = sizeof(Bytes32);

// Calls `field(member)` for each member of the record, in the order of the file.
template <typename Record, typename Field>
void ForEachField(Record& r, Field&& field) {
  field(r.first_seen);
  field(r.last_seen);
  field(r.accepted);
  field(r.deleted);
  field(r.active_days);
  field(r.last_day);
  field(r.reported);
  field(r.follow_steps);
  field(r.followers);
  field(r.work_bits);
  field(r.proved);
}

std::string_view AsView(const Bytes32& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void Append(const PublicKey& author, const AuthorRecord& record, std::string* out) {
  const size_t end = out->size() + kEntrySize;
  out->append(AsView(author));
  ForEachField(record,
               [out](const auto& member) { out->append(reinterpret_cast<const char*>(&member), sizeof(member)); });
  out->resize(end);
}

AuthorRecord ReadRecord(const char* at) {
  AuthorRecord record;
  ForEachField(record, [&at]<typename Member>(Member& member) {
    if constexpr (std::is_same_v<Member, bool>) {
      member = *at != 0;
    } else {
      std::memcpy(&member, at, sizeof(member));
    }
    at += sizeof(member);
  });
  return record;
}

}  // namespace

Status WriteSnapshot(const std::string& path, AuthorTable& table) {
  Sha256Hasher hasher;
  hasher.Start();
  std::string piece;
  size_t pieces = 0;
  const bool written = ReplaceFile(path, [&]() -> std::string_view {
    piece.clear();
    if (pieces == 0) piece = kMagic;
    for (; pieces < AuthorTable::kShards && piece.size() < kEntrySize; ++pieces)
      table.ForEachOf(pieces, [&](const PublicKey& author, const AuthorRecord& r) { Append(author, r, &piece); });
    if (!piece.empty()) {
      hasher.Add(piece);
    } else if (pieces++ == AuthorTable::kShards) {
      piece = AsView(hasher.Finish());
    }
    return piece;
  });
  if (written) return Status();
  return Status::Error("cannot write " + path + ": " + std::strerror(errno));
}

Status ReadSnapshot(std::string_view bytes, uint64_t now_seconds, AuthorTable* table) {
  if (!bytes.starts_with(kMagic)) return Status::Error("is not a snapshot that this version of weir can read");
  if (bytes.size() < kMagic.size() + kHashSize || (bytes.size() - kMagic.size() - kHashSize) % kEntrySize != 0)
    return Status::Error("is cut off");
  const std::string_view content = bytes.substr(0, bytes.size() - kHashSize);
  if (AsView(Sha256(content)) != bytes.substr(content.size())) return Status::Error("is damaged: its SHA-256 is wrong");
  for (size_t at = kMagic.size(); at < content.size(); at += kEntrySize) {
    PublicKey author;
    std::memcpy(author.data(), content.data() + at, kKeySize);
    table->Change(author, now_seconds,
                  [&](AuthorRecord& record) { record = ReadRecord(content.data() + at + kKeySize); });
  }
  return Status();
}

}  // namespace weir
