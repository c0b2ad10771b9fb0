// Attachment: the address of the relay that `weir top` watches, and the token that this relay wants. Both are looked
// for again before each attempt to connect, because a relay that was started again has another token, and may have
// another address.
#pragma once

#include <string>

#include "config/status.h"
#include "config/text/url.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

struct AttachOptions {
  // --url; empty: the relay that uses the data directory or, if the events are in PostgreSQL, the one on WEIR_PORT.
  std::string url;
  // --token-file; empty: with a URL, admin_token is used; without one, the token in the data directory.
  std::string token_file;
  // WEIR_ADMIN_TOKEN. If it is empty too, the token in the data directory is used if the relay at `url` runs there.
  std::string admin_token;
};

struct Attachment {
  ServerUrl url;
  // True if a lock file or the settings say that the relay is on this machine. Then its TLS certificate is not
  // verified, because it may be for another name.
  bool is_own = false;
  std::string token;  // empty if none was found
  // Says where the token comes from, and what to do if the relay refuses it: one or two whole sentences.
  std::string advice;
};

// Finds the relay and its token. Returns an error, in words without a full stop, if no relay is found, if the URL is
// wrong, or if the token would be sent to another machine over http. A token that is not found is no error.
Result<Attachment> FindAttachment(const RelayConfiguration& configuration, const AttachOptions& options);

}  // namespace weir
