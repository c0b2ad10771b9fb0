// A directory in which something is kept, and its disk.
#pragma once

#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// What stands behind the name of something that could not be looked at: ": Permission denied; run this as …".
std::string WhyUnseen(int error);

// `holds`: what is kept there, in words. Where it does not exist, the disk is that of the nearest directory above,
// where it would be made. `measure`: how long an fsync takes, by a file of some 100 KB that has no name; for two
// seconds at most. What could not be looked at is added to `unseen`.
DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen);

}  // namespace weir
