// weir check: checks whether the database of a relay is whole, or holds the same as another.
#pragma once

namespace weir {

// Returns 0 if nothing is wrong or nothing differs, 1 if something is or does, 2 if it could not be checked.
int CheckCommand(int argc, char** argv);

}  // namespace weir
