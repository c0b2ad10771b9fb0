// Tells systemd how the service is (sd_notify): a datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace weir {

// "READY=1", "STOPPING=1", "STATUS=…", one a line. Does nothing where nobody asked for it.
void NotifyService(std::string_view state);

}  // namespace weir
