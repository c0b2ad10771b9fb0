#pragma once

namespace weir {

// `weir export`: see its --help.
int ExportCommand(int argc, char** argv);

}  // namespace weir
