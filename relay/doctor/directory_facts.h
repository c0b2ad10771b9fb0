// Gathers facts about a directory and its disk for `weir doctor`.
#pragma once

#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// Returns the text that says why weir doctor could not look at something: ": Permission denied; run this as …". The
// caller puts the name of the thing before it. `error` is a value of errno.
std::string WhyUnseen(int error);

// Looks at a directory and its disk; `holds` names the contents of the directory ("the events"). If the directory does
// not exist, looks at the disk of the nearest directory above it that exists. If `measure` is true and the disk is not
// read-only, measures how long an fsync takes. The measurement takes at most about two seconds, and writes a temporary
// file of at most 96 KiB. Adds to `unseen` what it could not look at, and why. If the disk does not answer within five
// seconds, sets DirectoryFacts::hangs and returns without the other facts.
DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen);

}  // namespace weir
