// Makes the HTML of the pages at /live and /live/moderation, and of the page that asks an administrator for the token.
// The page at /live and that for the token work without JavaScript: the browser then reloads the page at /live every
// five seconds, unless LivePageParts::is_still is true. With JavaScript, live.js reads the events of the feed and
// updates the page. The page for moderation needs JavaScript: moderation.js asks the relay for all that it shows but
// the table of the authors' standing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "relay/net/http.h"
#include "relay/watch/live/live_feed.h"

namespace weir {

// The contents of the live page that are not in a LiveMoment.
struct LivePageParts {
  std::string relay;                 // the relay's name
  std::vector<SettingRow> settings;  // the settings that can be changed, in the order of LiveState::settings
  std::string_view known_by;         // how the client was recognised (`by` of Admin::RefusalOfPage)
  bool is_still = false;             // true: the page does not reload itself, so that the user can type in its form
};
// Returns the live page.
HttpResponse LivePage(const LivePageParts& parts, const LiveMoment& moment);
// Returns the page for moderation. Of `parts` it needs only the relay's name and known_by.
HttpResponse ModerationPage(const LivePageParts& parts, const LiveMoment& moment);

// The paths of the two pages. A browser that signs in goes on to one of them.
inline constexpr std::string_view kLivePath = "/live";
inline constexpr std::string_view kModerationPath = "/live/moderation";

// Returns the page that asks for the token, with this HTTP status. `problem` says why the form is shown again; it is
// empty the first time. `relay` is the relay's name. With the right token the browser goes on to the page at `path`.
HttpResponse SignInPage(const std::string& relay, int status, std::string_view problem,
                        std::string_view path = kLivePath);

// A script or style sheet of the pages. Browsers may cache it, because its address in the pages has a hash of its
// contents.
struct LiveFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};
// Returns all scripts and style sheets.
const std::vector<LiveFile>& LiveFiles();
// Returns the response to a GET of this file.
HttpResponse ResponseOf(const LiveFile& file);

}  // namespace weir
