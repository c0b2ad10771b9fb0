// Gathers facts about a directory and its disk for `weir doctor`.
#pragma once

#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// Returns words to append to the name of something that could not be looked at: ": Permission denied; run this as …".
// `error` is an errno.
std::string WhyUnseen(int error);

// Looks at a directory; `holds` names its contents ("the events"). If the directory does not exist, looks at the disk
// of the nearest directory above, where it would be made. If `measure` is true, and the disk can be written, measures
// how long an fsync takes. This takes about two seconds at most, and a file of some 100 KB, without a name if the file
// system allows that. Adds to `unseen` the things that it could not look at, and why. If the disk does not answer
// within five seconds, gives up and sets DirectoryFacts::hangs.
DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen);

}  // namespace weir
