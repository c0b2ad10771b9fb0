// Looks at a directory that holds something, and at its disk.
#pragma once

#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// Returns the words behind the name of something that could not be looked at: ": Permission denied; run this as …".
std::string WhyUnseen(int error);

// `holds` says in words what is kept there. If the directory does not exist, the disk is that of the nearest directory
// above, where it would be made. If `measure`, measures how long an fsync takes, with a file of some 100 KB (nameless
// if the file system allows it), for two seconds at most. Adds to `unseen` what could not be looked at.
DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen);

}  // namespace weir
