// Lets the relay's user own the files that root makes for it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace weir {

// Gives the file `path` to the owner of `model`. Only root can do that; other users own what they make. Some file
// systems have no owners, so a failure is ignored.
inline void GiveToOwnerOf(const std::string& model, const std::string& path) {
  struct stat owner {};
  if (geteuid() == 0 && stat(model.c_str(), &owner) == 0 && lchown(path.c_str(), owner.st_uid, owner.st_gid) != 0)
    return;
}

}  // namespace weir
