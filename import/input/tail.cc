#include "import/input/tail.h"

#include "relay/nostr/signature.h"

namespace weir {

void Tail::Add(std::string_view bytes) {
  if (bytes.size() >= kTailBytes) {
    bytes_.assign(bytes.substr(bytes.size() - kTailBytes));
    return;
  }
  bytes_.append(bytes);
  if (bytes_.size() > kTailBytes) bytes_.erase(0, bytes_.size() - kTailBytes);
}

std::string Tail::Hex() const { return ToHex(Sha256(bytes_)); }

}  // namespace weir
