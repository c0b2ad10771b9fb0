// Attachment: which relay `weir top` asks, and with which token. It is looked for anew before each attempt: a relay
// that was started again has another token, and may have another address.
#pragma once

#include <string>

#include "config/status.h"
#include "config/text/url.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

struct AttachOptions {
  std::string url;         // empty: of the relay that has the data directory
  std::string token_file;  // empty: WEIR_ADMIN_TOKEN for a URL, else that of the data directory
  std::string admin_token;
};

struct Attachment {
  ServerUrl url;
  // It is on this machine, as its lock file or the settings say: a certificate that has another name is no harm.
  bool is_own = false;
  std::string token;  // empty: none was found
  // Of a token that is refused: what to do. A whole sentence, or two.
  std::string advice;
};

// The error says what is missing: a part of a sentence. A token goes over http to this machine alone.
Result<Attachment> FindAttachment(const RelayConfiguration& configuration, const AttachOptions& options);

}  // namespace weir
