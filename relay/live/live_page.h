// The page at /live, and the one that asks for the token. Whole as they are: a browser without JavaScript shows the
// same tables and has the page made anew every five seconds, or holds it still; live.js takes over where it runs.
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
  std::vector<SettingRow> settings;  // those that can be changed
  std::string_view known_by;         // how the administrator is known (Admin::RefusalOfPage)
  bool is_still = false;             // not made anew by itself: somebody types
};
HttpResponse LivePage(const LivePageParts& parts, const LiveMoment& moment);

// `problem`: why it is shown again; 200 where there is none.
HttpResponse SignInPage(const std::string& relay, int status, std::string_view problem);

// What both are made of, by its path; they may be kept by a browser, for a new one has a new address.
struct LiveFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};
const std::vector<LiveFile>& LiveFiles();
HttpResponse ResponseOf(const LiveFile& file);

}  // namespace weir
