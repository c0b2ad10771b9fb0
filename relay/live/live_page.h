// Makes the HTML of the page at /live, and of the page that asks for the token. Both work without JavaScript: the live
// page then shows the same tables, and the browser reloads it every five seconds, unless is_still is set. With
// JavaScript, live.js follows the feed instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "relay/live/live_feed.h"
#include "relay/server/http.h"

namespace weir {

// The contents of the live page that are not in a LiveMoment.
struct LivePageParts {
  std::string relay;                 // the relay's name
  std::vector<SettingRow> settings;  // the settings that can be changed, in the order of LiveState::settings
  std::string_view known_by;         // the proof that the administrator has shown (Admin::RefusalOfPage)
  bool is_still = false;             // true: the page does not reload itself, so that the operator can type
};
// Returns the live page.
HttpResponse LivePage(const LivePageParts& parts, const LiveMoment& moment);

// Returns the page that asks for the token, with this HTTP status. `problem` says why the form is shown again; it is
// empty the first time. `relay` is the relay's name.
HttpResponse SignInPage(const std::string& relay, int status, std::string_view problem);

// A script or style sheet of the pages. Browsers may cache it, because a file with other contents has another address.
struct LiveFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};
// Returns all such files.
const std::vector<LiveFile>& LiveFiles();
// Returns the answer that contains this file.
HttpResponse ResponseOf(const LiveFile& file);

}  // namespace weir
