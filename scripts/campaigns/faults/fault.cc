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

#include "failing_call.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

template <typename Function>
Function* next(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto real = next(&::name, #name)
#define CALLER __builtin_return_address(0)

// Makes a call that fails do nothing, or half of its work.
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
