// weir scan: prints the stored events that match filters, straight from the database.
#pragma once

namespace weir {

// Returns 0 on success, 1 if reading or writing failed on the way, 2 if it was asked for something wrong.
int ScanCommand(int argc, char** argv);

}  // namespace weir
