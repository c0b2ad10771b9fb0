// relay_load: loads a Nostr relay on this machine and reports what it took and what it cost.
#pragma once

namespace weir {

int LoadCommand(int argc, char** argv);

}  // namespace weir
