// System calls that Emscripten's C library declares without defining them. A browser has no
// processes, processors to choose from or disks: they fail, and their callers do without.
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace {

int not_there() {
  errno = ENOSYS;
  return -1;
}

}  // namespace

extern "C" {

int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                 char* const[], char* const[]) {
  return ENOSYS;
}
int syncfs(int) { return not_there(); }
int memfd_create(const char*, unsigned) { return not_there(); }
int sched_getaffinity(pid_t, size_t, cpu_set_t*) { return not_there(); }

}  // extern "C"
