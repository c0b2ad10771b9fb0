// weir check: whether the database of a relay is whole.
#pragma once

namespace weir {

// Returns 0 if nothing is wrong, 1 if something is, 2 if it could not be checked.
int CheckCommand(int argc, char** argv);

}  // namespace weir
