// The page at /live, and the page that asks for the token. Both work without JavaScript: a browser without it shows the
// same tables and reloads the page every five seconds, or holds it still. With JavaScript, live.js takes over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "relay/live/live_feed.h"
#include "relay/server/http.h"

namespace weir {

struct LivePageParts {
  std::string relay;                 // its name
  std::vector<SettingRow> settings;  // the settings that can be changed
  std::string_view known_by;         // how the administrator is known (Admin::RefusalOfPage)
  bool is_still = false;             // does not reload itself, so that the operator can type
};
HttpResponse LivePage(const LivePageParts& parts, const LiveMoment& moment);

// `problem` says why the form is shown again; empty at first.
HttpResponse SignInPage(const std::string& relay, int status, std::string_view problem);

// A file that both pages use, by its path. Browsers may cache it, since a changed file has a new address.
struct LiveFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};
const std::vector<LiveFile>& LiveFiles();
HttpResponse ResponseOf(const LiveFile& file);

}  // namespace weir
