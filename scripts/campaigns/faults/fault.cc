// Preloaded into a program, fails the nth call of one kind that the program makes. Environment:
//   STRATA_FAULT_REPORT  a file of sizeof(Report) bytes: how many calls of each kind were made, and
//                        which one failed
//   STRATA_FAULT_KIND    write, read, open, ... as in kKinds; without it nothing fails
//   STRATA_FAULT_AT      n, from 1
//   STRATA_FAULT_AS      an error number; 0: a read or write of half the bytes
//   STRATA_FAULT_RANK    where it is set, only calls of this rank of an MPI job count
//   STRATA_FAULT_PLACES  a file of sizeof(Places) bytes: from where memory was asked for
//   STRATA_FAULT_PLACE   where it is set, only calls from there count to n (see place())
//   STRATA_FAULT_FROM    the first call for memory, of the libraries' too, that may be from there
//   STRATA_FAULT_DEPTH   how many frames of a stack tell places apart
//
// Counts calls while main() runs, on every thread and in forked children, and only the program's
// own. Calls that MPI's libraries, their libraries and the loader make for themselves do not count,
// nor does the memory of HDF5 and oneDNN.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

enum Kind {
  kWrite,
  kRead,
  kOpen,
  kClose,
  kFsync,
  kRename,
  kRemove,
  kMkdir,
  kTruncate,
  kMap,
  kMemory,
  kThread,
  kSocket,
  kFork,
  kKindCount
};
constexpr const char* kKinds[kKindCount] = {"write",  "read",   "open",   "close",    "fsync",
                                            "rename", "remove", "mkdir",  "truncate", "map",
                                            "memory", "thread", "socket", "fork"};
constexpr int kMostFrames = 48;

// faults.py reads this by its offsets.
struct Report {
  std::atomic<uint64_t> counts[32];
  uint64_t failed;              // 1 once the call has failed
  uint64_t frames;              // length of `stack`
  uint64_t stack[kMostFrames];  // return addresses: offsets in the program, 0 in a library
  char call[64];                // name of the call
  char path[4096];              // file of the call
};

struct Place {
  std::atomic<uint64_t> name;  // see place(); 0: unused
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> first;  // number of its first call among all calls for memory
  uint64_t frames;              // length of `stack`
  uint64_t stack[kMostFrames];  // as in Report
};
// A hash table: a place is stored at its name's index or after it. faults.py reads it.
constexpr uint64_t kMostPlaces = 1 << 16;
struct Places {
  Place places[kMostPlaces];
};

Report* report = nullptr;
Places* places = nullptr;
Kind failing_kind = kKindCount;
uint64_t failing_call = 0;
int failing_error = 0;
uint64_t failing_place = 0;  // 0: any
uint64_t failing_from = 0;
std::atomic<uint64_t> memory_calls = 0;  // calls of the program and of libraries
std::atomic<uint64_t> calls_there = 0;   // calls from the failing place
int place_depth = 0;
std::atomic<bool> counting = false;
// With this TLS model, no thread allocates memory to learn that it is inside this library.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

template <typename Function>
Function* next(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto real = next(&::name, #name)
#define CALLER __builtin_return_address(0)

enum class Owner { kProgram, kLibrary, kMpi, kOther, kWhoeverCalledIt };

Owner owner_of(void* address, Kind kind) {
  dl_find_object found;
  if (_dl_find_object(address, &found) != 0) return Owner::kOther;
  const char* name = found.dlfo_link_map->l_name;
  for (const char* part : {"/libc.so", "/libgcc_s", "/libstdc++", "fault.so"}) {
    if (std::strstr(name, part)) return Owner::kWhoeverCalledIt;
  }
  for (const char* part : {"/ld-linux", "/libmpi", "/libopen-", "/openmpi/", "/libpmix", "/pmix",
                           "/libevent", "/libhwloc", "/libucp", "/libucs", "/libfabric"}) {
    if (std::strstr(name, part)) return Owner::kMpi;
  }
  // These libraries crash, or ignore it, if they get no memory or a file does not close.
  for (const char* part : {"/libhdf5", "/libdnnl", "/libxlsxwriter", "/libminizip"}) {
    if ((kind == kMemory || kind == kMap || kind == kClose) && std::strstr(name, part))
      return Owner::kOther;
  }
  return *name == '\0' ? Owner::kProgram : Owner::kLibrary;
}

bool is_programs(Kind kind, void* caller) {
  Owner owner = owner_of(caller, kind);
  if (owner != Owner::kWhoeverCalledIt && owner != Owner::kLibrary) return owner == Owner::kProgram;
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  int i = 0;
  for (; i < count && owner == Owner::kWhoeverCalledIt; ++i) owner = owner_of(frames[i], kind);
  if (owner != Owner::kLibrary) return owner == Owner::kProgram;
  // The call is the program's, unless MPI called the library, as its hwloc asks X11 for graphics
  // cards.
  for (; i < count; ++i) {
    owner = owner_of(frames[i], kind);
    if (owner == Owner::kProgram || owner == Owner::kMpi) break;
  }
  return owner != Owner::kMpi;
}

// Writes the return addresses of this call to `stack` and returns their number.
uint64_t note_stack(uint64_t* stack) {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  uint64_t noted = 0;
  for (int i = 0; i < count; ++i) {
    dl_find_object found;
    if (_dl_find_object(frames[i], &found) != 0) continue;
    const link_map* map = found.dlfo_link_map;
    const bool in_program = map->l_name[0] == '\0';
    stack[noted++] = in_program ? reinterpret_cast<uint64_t>(frames[i]) - map->l_addr : 0;
  }
  return noted;
}

template <size_t kBytes>
void copy_beginning(char (&to)[kBytes], const char* from) {
  const size_t length = ::strnlen(from, kBytes - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}

void describe(const char* call, const char* path) {
  copy_beginning(report->call, call);
  if (path) copy_beginning(report->path, path);
  report->frames = note_stack(report->stack);
  report->failed = 1;
}

// Returns whether calls of `kind` count: all if none is to fail, else one kind until it has failed.
bool matters(Kind kind) {
  return failing_kind == kKindCount || (kind == failing_kind && report->failed == 0);
}

// Returns the place of a call: a hash (FNV-1a) of the return addresses of the innermost
// `place_depth` frames outside the C library, relative to the load addresses of their files.
uint64_t place() {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  uint64_t name = 0xcbf29ce484222325;
  const auto add = [&](uint64_t value) { name = (name ^ value) * 0x100000001b3; };
  for (int i = 0, used = 0; i < count && used < place_depth; ++i) {
    dl_find_object found;
    if (_dl_find_object(frames[i], &found) != 0) continue;
    const link_map* map = found.dlfo_link_map;
    if (std::strstr(map->l_name, "/libc.so") || std::strstr(map->l_name, "fault.so")) continue;
    for (const char* letter = map->l_name; *letter; ++letter) add(*letter);
    add(reinterpret_cast<uint64_t>(frames[i]) - map->l_addr);
    ++used;
  }
  return name ? name : 1;
}

void note_place() {
  const uint64_t name = place();
  for (uint64_t i = 0; i < kMostPlaces; ++i) {
    Place& here = places->places[(name + i) % kMostPlaces];
    uint64_t found = 0;
    if (here.name.compare_exchange_strong(found, name)) {
      here.first = memory_calls.load();
      here.frames = note_stack(here.stack);
    }
    if (found != 0 && found != name) continue;
    ++here.calls;
    return;
  }
}

// Counts a call of the program. Returns whether it is the one to fail.
bool is_chosen(Kind kind) {
  if (failing_place != 0) return place() == failing_place && ++calls_there == failing_call;
  const uint64_t call = ++report->counts[kind];
  if (places && kind == kMemory) note_place();
  return kind == failing_kind && call == failing_call;
}

// Counts a call. Returns whether it is the one to fail, and then sets errno.
bool fails(Kind kind, const char* call, const char* path, void* caller) {
  if (!counting || inside || !matters(kind)) return false;
  if (kind == kMemory && ++memory_calls < failing_from) return false;
  inside = true;
  const int before = errno;
  // A recorded place is always the program's.
  const bool chosen = (failing_place != 0 || is_programs(kind, caller)) && is_chosen(kind);
  if (chosen) describe(call, path);
  errno = chosen ? failing_error : before;
  inside = false;
  return chosen;
}

// Does the same for a call on an open file.
bool fails(Kind kind, const char* call, int fd, void* caller) {
  if (!counting || inside || !matters(kind)) return false;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const int before = errno;
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  path[size > 0 ? size : 0] = '\0';
  errno = before;
  return fails(kind, call, path, caller);
}

// Returns the result of a failing call, or of a call with half of its bytes.
template <typename Call>
ssize_t short_of(size_t size, const Call& call) {
  return failing_error != 0 ? -1 : call((size + 1) / 2);
}

// Simulates a full disk: a stream writes from within the C library, so its file is a full disk
// during the call. Interruptions do not leave the C library.
template <typename Call>
auto on_a_full_disk(std::FILE* stream, const Call& call) {
  if (failing_error != ENOSPC) return call();
  inside = true;
  const int fd = ::fileno(stream), kept = ::dup(fd), full = ::open("/dev/full", O_WRONLY);
  ::dup2(full, fd);
  const auto result = call();
  const int reason = errno;
  ::dup2(kept, fd);
  ::close(kept);
  ::close(full);
  errno = reason;
  inside = false;
  return result;
}

mode_t mode_of(va_list arguments) { return static_cast<mode_t>(va_arg(arguments, unsigned)); }

// ---- main()

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  void* frame;
  ::backtrace(&frame, 1);  // the first call loads a library
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* wanted = std::getenv("STRATA_FAULT_RANK");
  counting = report && (!wanted || (rank && std::strcmp(rank, wanted) == 0));
  const int result = real_main(argc, argv, environment);
  counting = false;
  return result;
}

// Maps the file that a variable names, shared with its readers. Returns null if there is none.
template <typename Content>
Content* map_file(const char* variable) {
  const char* path = std::getenv(variable);
  const int fd = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Content*>(memory);
}

__attribute__((constructor)) void begin() {
  ::unsetenv("LD_PRELOAD");  // other programs that this one starts are not tested
  report = map_file<Report>("STRATA_FAULT_REPORT");
  if (!report) return;
  places = map_file<Places>("STRATA_FAULT_PLACES");
  if (const char* name = std::getenv("STRATA_FAULT_PLACE"))
    failing_place = std::strtoull(name, nullptr, 16);
  if (const char* from = std::getenv("STRATA_FAULT_FROM"))
    failing_from = std::strtoull(from, nullptr, 10);
  if (const char* depth = std::getenv("STRATA_FAULT_DEPTH")) place_depth = std::atoi(depth);
  const char* kind = std::getenv("STRATA_FAULT_KIND");
  for (int i = 0; kind && i < kKindCount; ++i) {
    if (std::strcmp(kind, kKinds[i]) == 0) failing_kind = static_cast<Kind>(i);
  }
  if (const char* at = std::getenv("STRATA_FAULT_AT"))
    failing_call = std::strtoull(at, nullptr, 10);
  if (const char* as = std::getenv("STRATA_FAULT_AS")) failing_error = std::atoi(as);
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  using Start = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return reinterpret_cast<Start*>(::dlsym(RTLD_NEXT, "__libc_start_main"))(
      counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

// ---- Write

ssize_t write(int fd, const void* data, size_t size) {
  REAL(write);
  if (!fails(kWrite, "write", fd, CALLER)) return real(fd, data, size);
  return short_of(size, [&](size_t part) { return real(fd, data, part); });
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  REAL(pwrite);
  if (!fails(kWrite, "pwrite", fd, CALLER)) return real(fd, data, size, offset);
  return short_of(size, [&](size_t part) { return real(fd, data, part, offset); });
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  REAL(pwrite64);
  if (!fails(kWrite, "pwrite", fd, CALLER)) return real(fd, data, size, offset);
  return short_of(size, [&](size_t part) { return real(fd, data, part, offset); });
}
ssize_t writev(int fd, const iovec* parts, int count) {
  REAL(writev);
  if (!fails(kWrite, "writev", fd, CALLER)) return real(fd, parts, count);
  return short_of(parts[0].iov_len,
                  [&](size_t part) { return ::write(fd, parts[0].iov_base, part); });
}
size_t fwrite(const void* data, size_t size, size_t count, std::FILE* stream) {
  REAL(fwrite);
  if (!fails(kWrite, "fwrite", ::fileno(stream), CALLER)) return real(data, size, count, stream);
  return on_a_full_disk(stream, [&] { return real(data, size, count, stream); });
}
int fflush(std::FILE* stream) {
  REAL(fflush);
  if (!stream || !fails(kWrite, "fflush", ::fileno(stream), CALLER)) return real(stream);
  return on_a_full_disk(stream, [&] { return real(stream); });
}

// ---- Read

ssize_t read(int fd, void* data, size_t size) {
  REAL(read);
  if (!fails(kRead, "read", fd, CALLER)) return real(fd, data, size);
  return short_of(size, [&](size_t part) { return real(fd, data, part); });
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  REAL(pread);
  if (!fails(kRead, "pread", fd, CALLER)) return real(fd, data, size, offset);
  return short_of(size, [&](size_t part) { return real(fd, data, part, offset); });
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  REAL(pread64);
  if (!fails(kRead, "pread", fd, CALLER)) return real(fd, data, size, offset);
  return short_of(size, [&](size_t part) { return real(fd, data, part, offset); });
}

// ---- Files and folders

int open(const char* path, int flags, ...) {
  REAL(open);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(arguments);
  va_end(arguments);
  return fails(kOpen, "open", path, CALLER) ? -1 : real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  REAL(open64);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(arguments);
  va_end(arguments);
  return fails(kOpen, "open", path, CALLER) ? -1 : real(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  REAL(openat);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(arguments);
  va_end(arguments);
  return fails(kOpen, "openat", path, CALLER) ? -1 : real(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  REAL(openat64);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(arguments);
  va_end(arguments);
  return fails(kOpen, "openat", path, CALLER) ? -1 : real(folder, path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  return fails(kOpen, "fopen", path, CALLER) ? nullptr : real(path, mode);
}
std::FILE* fopen64(const char* path, const char* mode) {
  REAL(fopen64);
  return fails(kOpen, "fopen", path, CALLER) ? nullptr : real(path, mode);
}
DIR* opendir(const char* path) {
  REAL(opendir);
  return fails(kOpen, "opendir", path, CALLER) ? nullptr : real(path);
}
dirent* readdir(DIR* folder) {
  REAL(readdir);
  return fails(kRead, "readdir", ::dirfd(folder), CALLER) ? nullptr : real(folder);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  REAL(memfd_create);
  return fails(kOpen, "memfd_create", "/memfd:", CALLER) ? -1 : real(name, flags);
}
// A failing close still closes the file.
int close(int fd) {
  REAL(close);
  const bool failing = fails(kClose, "close", fd, CALLER);
  const int reason = errno, result = real(fd);
  if (failing) errno = reason;
  return failing ? -1 : result;
}
int fsync(int fd) {
  REAL(fsync);
  return fails(kFsync, "fsync", fd, CALLER) ? -1 : real(fd);
}
int syncfs(int fd) noexcept {
  REAL(syncfs);
  return fails(kFsync, "syncfs", fd, CALLER) ? -1 : real(fd);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  return fails(kFsync, "fdatasync", fd, CALLER) ? -1 : real(fd);
}
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return fails(kRename, "rename", to, CALLER) ? -1 : real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  REAL(renameat2);
  return fails(kRename, "renameat2", to, CALLER) ? -1
                                                 : real(from_folder, from, to_folder, to, flags);
}
int remove(const char* path) noexcept {
  REAL(remove);
  return fails(kRemove, "remove", path, CALLER) ? -1 : real(path);
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return fails(kRemove, "unlink", path, CALLER) ? -1 : real(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  REAL(unlinkat);
  return fails(kRemove, "unlinkat", path, CALLER) ? -1 : real(folder, path, flags);
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return fails(kMkdir, "mkdir", path, CALLER) ? -1 : real(path, mode);
}
int ftruncate(int fd, off_t size) noexcept {
  REAL(ftruncate);
  return fails(kTruncate, "ftruncate", fd, CALLER) ? -1 : real(fd, size);
}
int ftruncate64(int fd, off64_t size) noexcept {
  REAL(ftruncate64);
  return fails(kTruncate, "ftruncate", fd, CALLER) ? -1 : real(fd, size);
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
  REAL(fallocate);
  return fails(kTruncate, "fallocate", fd, CALLER) ? -1 : real(fd, mode, offset, size);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  REAL(fallocate64);
  return fails(kTruncate, "fallocate", fd, CALLER) ? -1 : real(fd, mode, offset, size);
}

// ---- Memory, threads, processes

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  REAL(mmap);
  return fails(kMap, "mmap", fd, CALLER) ? MAP_FAILED
                                         : real(address, size, protection, flags, fd, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int fd,
             off64_t offset) noexcept {
  REAL(mmap64);
  return fails(kMap, "mmap", fd, CALLER) ? MAP_FAILED
                                         : real(address, size, protection, flags, fd, offset);
}
void* malloc(size_t size) {
  return fails(kMemory, "malloc", nullptr, CALLER) ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return fails(kMemory, "calloc", nullptr, CALLER) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return fails(kMemory, "realloc", nullptr, CALLER) ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(kMemory, "aligned_alloc", nullptr, CALLER) ? nullptr
                                                          : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails(kMemory, "posix_memalign", nullptr, CALLER)) return ENOMEM;
  void* const found = __libc_memalign(alignment, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  REAL(pthread_create);
  if (fails(kThread, "pthread_create", nullptr, CALLER)) return failing_error;
  return real(thread, attributes, run, argument);
}
int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  REAL(socketpair);
  return fails(kSocket, "socketpair", nullptr, CALLER) ? -1 : real(domain, type, protocol, ends);
}
ssize_t send(int fd, const void* data, size_t size, int flags) {
  REAL(send);
  return fails(kSocket, "send", fd, CALLER) ? -1 : real(fd, data, size, flags);
}
ssize_t recv(int fd, void* data, size_t size, int flags) {
  REAL(recv);
  return fails(kSocket, "recv", fd, CALLER) ? -1 : real(fd, data, size, flags);
}
pid_t fork() noexcept {
  REAL(fork);
  return fails(kFork, "fork", nullptr, CALLER) ? -1 : real();
}
int posix_spawnp(pid_t* child, const char* program, const posix_spawn_file_actions_t* files,
                 const posix_spawnattr_t* attributes, char* const arguments[],
                 char* const environment[]) {
  REAL(posix_spawnp);
  if (fails(kFork, "posix_spawnp", program, CALLER)) return failing_error;
  return real(child, program, files, attributes, arguments, environment);
}

}  // extern "C"
