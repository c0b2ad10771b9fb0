// Tells requests of programs on this machine from those that come through a proxy or from a web page, and whether they
// have the operator's rights.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "relay/net/http.h"

namespace weir {

// The setting that decides whether requests from programs on this machine have the operator's rights
// (relay/admin/admin.h). kAuto was the default of earlier versions and has the same effect as kFalse.
enum class AdminFromLoopback { kFalse, kTrue, kAuto };
// Adds the setting to `table` (config/settings.h). The table writes to `trust`, which must outlive the table.
void Declare(SettingTable& table, AdminFromLoopback& trust);

// Says whether requests from a loopback address count as requests of an administrator's programs
// (WEIR_ADMIN_FROM_LOOPBACK). An operator should allow this only if no program on the machine forwards requests from
// elsewhere, because the requests of a raw forwarder (ssh -R, Tor, stunnel, HAProxy in tcp mode) look the same.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;  // the setting that decides `trusted`, for messages
};
LoopbackTrust TrustInLoopback(AdminFromLoopback setting);
// Returns true if a request seems to come from a program on this machine, or from a browser on this machine that shows
// a page of this relay: it comes from a loopback address, has no header of a proxy or of another site's page, and
// IsLoopbackName is true for its Host. The relay's pages use this function to decide which links they show. This
// function gives no rights; only an Admin (admin.h) does.
bool IsFromHere(const HttpRequest& request);
// Returns why a request may not be that of a program on this machine, in words for its client; empty if it surely is.
std::string WhyNotFromHere(const HttpRequest& request);

}  // namespace weir
