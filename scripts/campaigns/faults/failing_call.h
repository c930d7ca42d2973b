// Counts the calls that a program asks for, and chooses the one that fails. It is a part of
// fault.cc, which says what the environment chooses.
#pragma once

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

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

// faults.py reads it by these offsets.
struct Report {
  std::atomic<uint64_t> counts[32];
  uint64_t failed;              // 1 once the call has failed
  uint64_t frames;              // of `stack`
  uint64_t stack[kMostFrames];  // return addresses: offsets in the program, 0 in a library
  char call[64];                // its name
  char path[4096];              // its file
};

struct Place {
  std::atomic<uint64_t> name;  // see place(); 0: nothing is here
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> first;  // its first call among all calls for memory
  uint64_t frames;              // of `stack`
  uint64_t stack[kMostFrames];  // as in Report
};
// A hash table: a place stands at its name or after it. faults.py reads it.
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
std::atomic<uint64_t> memory_calls = 0;  // of the program and of libraries
std::atomic<uint64_t> calls_there = 0;   // from the failing place
int place_depth = 0;
std::atomic<bool> counting = false;
// No thread allocates memory to learn that it is inside this library.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

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
  // These crash, or pass over it, where they get no memory or a file does not close.
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
  // The program's, unless MPI called the library, as its hwloc asks X11 for graphics cards.
  for (; i < count; ++i) {
    owner = owner_of(frames[i], kind);
    if (owner == Owner::kProgram || owner == Owner::kMpi) break;
  }
  return owner != Owner::kMpi;
}

// Puts the return addresses of this call into `stack`; returns how many.
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

// Whether calls of `kind` are looked at: all where none is to fail, else one kind until it has.
bool matters(Kind kind) {
  return failing_kind == kKindCount || (kind == failing_kind && report->failed == 0);
}

// Names the place of a call: a hash (FNV-1a) of the return addresses of the innermost `place_depth`
// frames outside the C library, relative to where their files are loaded.
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

// Counts a call of the program's. True where it is the one to fail.
bool is_chosen(Kind kind) {
  if (failing_place != 0) return place() == failing_place && ++calls_there == failing_call;
  const uint64_t call = ++report->counts[kind];
  if (places && kind == kMemory) note_place();
  return kind == failing_kind && call == failing_call;
}

// Counts a call. True, with errno, where it is the one to fail.
bool fails(Kind kind, const char* call, const char* path, void* caller) {
  if (!counting || inside || !matters(kind)) return false;
  if (kind == kMemory && ++memory_calls < failing_from) return false;
  inside = true;
  const int before = errno;
  // A place that was noted is the program's.
  const bool chosen = (failing_place != 0 || is_programs(kind, caller)) && is_chosen(kind);
  if (chosen) describe(call, path);
  errno = chosen ? failing_error : before;
  inside = false;
  return chosen;
}

// The same for a call on an open file.
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

}  // namespace
