// A moment (serial.h) as text, for programs that go on from it: "1234" if the store is a RocksDB, whose events have one
// origin; "3:120,7:88", the last serial of each origin, for a PostgreSQL; "0" for the moment before the first event.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/store/serial.h"

namespace weir {

std::string ToText(const Moment& moment);
// Returns an error for a text that ToText does not return.
Result<Moment> ParseSerials(std::string_view text);

}  // namespace weir
