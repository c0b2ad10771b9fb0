// Recognises requests of programs on this machine, as opposed to requests that come through a proxy or from a web page,
// and says whether they have the rights of an administrator.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "relay/net/http.h"

namespace weir {

// The setting that decides whether requests from programs on this machine have the rights of an administrator
// (relay/admin/admin.h). kAuto was the default of earlier versions and has the same effect as kFalse.
enum class AdminFromLoopback { kFalse, kTrue, kAuto };
// Adds the setting to `table` (config/settings.h). The table writes to `trust`, which must outlive the table.
void Declare(SettingTable& table, AdminFromLoopback& trust);

// Says whether requests of programs on this machine count as requests of an administrator (WEIR_ADMIN_FROM_LOOPBACK).
// An operator should allow this only if no program on the machine forwards requests from elsewhere, because the
// requests that come through a raw forwarder (ssh -R, Tor, stunnel, HAProxy in tcp mode) look like those of a program
// on this machine.
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
// Returns the reason why a request does not count as that of a program on this machine, in words for its client; empty
// if it counts. A request of a page of this relay does not count.
std::string WhyNotFromHere(const HttpRequest& request);

}  // namespace weir
