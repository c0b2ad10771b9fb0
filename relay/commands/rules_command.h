// weir rules: checks the rules of weir.yaml, and says what they would do to an event.
#pragma once

namespace weir {

// `weir rules check` returns the exit status 0 if the file is right, else 2. `weir rules test` returns 0 if the relay
// would take every event, 1 if it would refuse one, and 2 if the file, an event or a flag is wrong. argv[0] is
// "weir rules".
int RulesCommand(int argc, char** argv);

}  // namespace weir
