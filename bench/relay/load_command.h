// relay_load: puts load on a Nostr relay on this machine, and reports the rates, the latencies and the relay's costs.
#pragma once

namespace weir {

int LoadCommand(int argc, char** argv);

}  // namespace weir
