// `weir admin`: manages a relay that runs, by the methods for administrators (relay/management_plugin.h).
#pragma once

namespace weir {

int AdminCommand(int argc, char** argv);

}  // namespace weir
