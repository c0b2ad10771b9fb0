// Attachment: the address of the relay that a command asks, and the token that the command sends to it. A program that
// goes on, such as `weir top`, calls FindAttachment before each attempt to connect, because a relay has a new token,
// and may have a new address, after each restart.
#pragma once

#include <string>

#include "config/command_line.h"
#include "config/status.h"
#include "config/text/url.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

// The flags and the setting that tell FindAttachment which relay to find. The token is the one in `token_file`, if that
// is set. Otherwise, without `url`, it is the one in the data directory. Otherwise it is `admin_token`, if that is set,
// else the one in the data directory, if the relay at `url` has that directory open.
struct AttachOptions {
  // The value of --url. If it is empty, FindAttachment takes the relay that has the data directory open or, if
  // WEIR_STORE is a PostgreSQL server, the relay at WEIR_LISTEN and WEIR_PORT.
  std::string url;
  std::string token_file;   // the value of --token-file
  std::string admin_token;  // the value of WEIR_ADMIN_TOKEN
};

// Adds --url, --token-file and --data-dir. `options` must live until `line` has been parsed.
void AddTo(CommandLine& line, AttachOptions& options);
// Loads the relay's settings from the environment and the flags of `line`, which has been parsed, and sets
// `options->admin_token`. Returns an error if a setting is wrong.
Status LoadSettings(const CommandLine& line, AttachOptions* options, RelayConfiguration* configuration);

struct Attachment {
  ServerUrl url;
  // True if the address comes from the data directory or the settings of this machine, not from --url. The relay's TLS
  // certificate is then not verified, because it may be for another name.
  bool is_own = false;
  std::string token;  // empty if none was found
  // A sentence to show if the relay refuses the token: where the token comes from, or why no token was found.
  std::string advice;
};

// Returns true if no program has the database of the data directory open, so that a command may open it itself. Always
// returns false with --url, and if WEIR_STORE is a PostgreSQL server, which any number of relays may use.
bool NoRelayRuns(const RelayConfiguration& configuration, const AttachOptions& options);
// Finds the relay and its token. Returns an error if it finds no relay, if the URL is not valid, or if the token would
// have to be sent to another machine without TLS. Returns an Attachment without a token if it finds no token.
Result<Attachment> FindAttachment(const RelayConfiguration& configuration, const AttachOptions& options);

}  // namespace weir
