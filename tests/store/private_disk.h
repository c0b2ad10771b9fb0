// A small disk for one process, gone with it: a tmpfs in a mount namespace of its own.
#pragma once

namespace weir {

// Its directory, in the environment of the process that is to have it.
inline constexpr const char* kPrivateDisk = "WEIR_STORE_PRIVATE_DISK";
inline constexpr int kPrivateDiskMiB = 24;
// The exit code of a process that may not mount.
inline constexpr int kNoPrivateDisk = 77;

// False where the system does not allow it. The process must have one thread.
bool MountPrivateDisk();

}  // namespace weir
