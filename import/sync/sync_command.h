// The command `weir sync`.
#pragma once

namespace weir {

int SyncCommand(int argc, char** argv);

}  // namespace weir
