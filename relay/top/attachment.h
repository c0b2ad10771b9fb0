// Attachment: the relay that `weir top` asks, and the token for it. They are looked for anew before each attempt: a
// relay that was started again has another token, and may have another address.
#pragma once

#include <string>

#include "config/status.h"
#include "config/text/url.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

struct AttachOptions {
  std::string url;         // empty: that of the relay that has the data directory
  std::string token_file;  // empty: WEIR_ADMIN_TOKEN for a URL, else that of the data directory
  std::string admin_token;
};

struct Attachment {
  ServerUrl url;
  // True if the relay is on this machine, by its lock file or the settings: then its certificate is not verified, as it
  // may have another name.
  bool is_own = false;
  std::string token;  // empty: none was found
  // Says what to do if the token is refused: one or two whole sentences.
  std::string advice;
};

// The error says what is missing, as a part of a sentence. A token is sent over http to this machine only.
Result<Attachment> FindAttachment(const RelayConfiguration& configuration, const AttachOptions& options);

}  // namespace weir
