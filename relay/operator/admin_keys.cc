#include "relay/operator/admin_keys.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/text/parse.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

// Reads `entry`: a key, and the rights behind a colon if `with_rights`.
Result<AdminKey> ReadAdminKey(std::string_view entry, bool with_rights) {
  const size_t colon = with_rights ? entry.find(':') : entry.npos;
  const std::string_view text = TrimBlanks(entry.substr(0, colon));
  const Result<PublicKey> key = ParsePublicKey(text);
  if (!key.ok()) return Status::Error(PrintableKey(text) + " " + key.status().message());
  AdminKey admin{.hex = ToHex(key.value()), .npub = ToNpub(key.value()), .rights = AdminRights::All()};
  if (!with_rights) return admin;
  if (colon == entry.npos)
    return Status::Error(PrintableKey(text) + " has no rights: write a colon and the rights behind it, such as " +
                         admin.npub + ":moderate");
  const std::string_view words = TrimBlanks(entry.substr(colon + 1));
  const Result<AdminRights> rights = AdminRights::Parse(words);
  if (!rights.ok()) return Status::Error(Printable(words) + " " + rights.status().message());
  admin.rights = rights.value();
  return admin;
}

Status AddKeys(std::string_view setting, std::string_view list, bool with_rights, std::vector<AdminKey>* keys) {
  for (size_t end = 0; !list.empty(); list.remove_prefix(std::min(end + 1, list.size()))) {
    end = std::min(list.find(','), list.size());
    Result<AdminKey> key = ReadAdminKey(list.substr(0, end), with_rights);
    if (!key.ok()) return Status::Error(std::string(setting) + ": " + key.status().message());
    if (std::ranges::find(*keys, key.value().hex, &AdminKey::hex) != keys->end())
      return Status::Error(std::string(setting) + ": " + key.value().npub +
                           " is an administrator already; name each key once, with all its rights");
    keys->push_back(std::move(key).value());
  }
  return Status();
}

}  // namespace

Result<std::vector<AdminKey>> AdminKeysOf(const RelaySettings& settings) {
  std::vector<AdminKey> keys;
  if (Status status = AddKeys("WEIR_RELAY_ADMIN_PUBKEY", settings.admin_pubkey, false, &keys); !status.ok())
    return status;
  if (Status status = AddKeys("WEIR_RELAY_ADMINS", settings.admins, true, &keys); !status.ok()) return status;
  return keys;
}

}  // namespace weir
