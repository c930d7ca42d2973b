#include "base/files/files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>
#include <utility>

#include "base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace {

// Device and inode of everything flushed to disk, in order.
std::vector<std::pair<dev_t, ino_t>> flushed;

bool no_memory_for_folders = false;

}  // namespace

extern "C" DIR* opendir(const char* path) {
  using Open = DIR* (*)(const char*);
  static const Open real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "opendir"));
  if (!no_memory_for_folders) return real(path);
  errno = ENOMEM;
  return nullptr;
}

// Replaces the C library's function, so that the test sees every flush.
extern "C" int fsync(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) == 0) flushed.emplace_back(status.st_dev, status.st_ino);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace strata {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class Files : public testing::Test {
 protected:
  Files()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   fmt::format("files.{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(Files, WrittenBytesAreReadBackAndParentsAreMade) {
  const std::string bytes("a\0b\n", 4);
  write_file_atomically(directory_ / "x" / "y", bytes);
  EXPECT_EQ(read_file(directory_ / "x" / "y"), bytes);
}

TEST_F(Files, AFileInPlaceOfAFolderIsNamed) {
  write_file_atomically(directory_ / "file", "x");
  const std::string error =
      error_of([&] { write_file_atomically(directory_ / "file" / "y", "x"); });
  EXPECT_THAT(error, HasSubstr("file: cannot create directory: "));
}

TEST_F(Files, AMissingFileIsNamed) {
  try {
    read_file(directory_ / "none");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("none: cannot open"));
  }
}

// Sanitizers end a process that requests so much memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Files, AFileLargerThanMemoryIsRefused) {
  write_file_atomically(directory_ / "large", "");
  fs::resize_file(directory_ / "large", uint64_t{1} << 43);  // a hole
  EXPECT_THROW(read_file(directory_ / "large"), ReadError);
}
#endif

TEST_F(Files, ADirectoryIsNotAFile) { EXPECT_THROW(read_file(directory_), Error); }

TEST_F(Files, ADirectoryIsListedInOrderOfName) {
  for (const char* name : {"c", "a", "b"}) write_file_atomically(directory_ / name, "x");
  EXPECT_EQ(list_directory(directory_),
            (std::vector{directory_ / "a", directory_ / "b", directory_ / "c"}));
  EXPECT_THROW(list_directory(directory_ / "none"), Error);
  no_memory_for_folders = true;
  std::error_code error;
  EXPECT_THROW(list_directory(directory_, error), std::bad_alloc) << "not an empty one";
  no_memory_for_folders = false;
}

// A file-size limit stands in for a full disk: both make write() fail half way.
TEST_F(Files, AFailedWriteKeepsTheOldFileAndLeavesNothingElse) {
  write_file_atomically(directory_ / "kept", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limited);
  EXPECT_THROW(write_file_atomically(directory_ / "kept", std::string(100000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read_file(directory_ / "kept"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

std::pair<dev_t, ino_t> identity_of(const fs::path& path) {
  struct stat status {};
  ::stat(path.c_str(), &status);
  return {status.st_dev, status.st_ino};
}

// A power failure may lose a name whose folder was not flushed, and a folder whose parent was not.
TEST_F(Files, AFileWrittenInPiecesAppearsWhenItIsWhole) {
  const auto path = directory_ / "pieces";
  write_file_atomically(path, "old");
  {
    AtomicFile left(path);
    left.write("cut sh");
    EXPECT_EQ(list_directory(directory_).size(), 2u) << "its temporary file";
  }
  EXPECT_EQ(list_directory(directory_).size(), 1u);
  AtomicFile file(path);
  file.write("new ");
  EXPECT_EQ(read_file(path), "old");
  file.write("bytes");
  file.commit();
  EXPECT_EQ(read_file(path), "new bytes");
  EXPECT_EQ(list_directory(directory_).size(), 1u);
}

TEST_F(Files, AWrittenFileAndItsFoldersAreFlushed) {
  flushed.clear();
  write_file_atomically(directory_ / "new" / "file", "x");
  const std::vector<std::pair<dev_t, ino_t>> wanted = {identity_of(directory_),
                                                       identity_of(directory_ / "new" / "file"),
                                                       identity_of(directory_ / "new")};
  EXPECT_EQ(flushed, wanted);
}

TEST_F(Files, ALinkAtTheTemporaryNameIsNotFollowed) {
  write_file_atomically(directory_ / "victim", "of another");
  for (const int i : {0, 1}) {
    fs::create_symlink("victim", directory_ / fmt::format("x.tmp.{}.{}", ::getpid(), i));
  }
  fs::create_symlink("victim", directory_ / fmt::format("x.tmp.{}", ::getpid()));
  write_file_atomically(directory_ / "x", "mine");
  EXPECT_EQ(read_file(directory_ / "x"), "mine");
  EXPECT_EQ(read_file(directory_ / "victim"), "of another");
}

TEST_F(Files, LeftoversOfAKilledWriterAreRemovedFilesBeingWrittenStay) {
  const auto left = [&](const char* name) {
    std::ofstream(directory_ / name) << "half";
    return directory_ / name;
  };
  const auto of_same = left("x.tmp.999999999.0"), of_other = left("y.tmp.999999999.12");
  const auto neighbour = left("x.txt");
  fs::last_write_time(neighbour, fs::last_write_time(neighbour) - std::chrono::hours(1));
  const auto no_leftover = left("x.tmp.999999999"), no_number = left("x.tmp.99999999a.0");
  AtomicFile being_written(directory_ / "z");
  write_file_atomically(directory_ / "x", "whole");
  EXPECT_FALSE(fs::exists(of_same));
  EXPECT_TRUE(fs::exists(of_other)) << "another file's";
  EXPECT_TRUE(fs::exists(neighbour)) << "no temporary file, however old";
  const auto below = left("below.tmp.1");
  remove_leftovers(directory_);
  EXPECT_FALSE(fs::exists(of_other));
  for (const auto& path : {no_leftover, no_number, below}) EXPECT_TRUE(fs::exists(path)) << path;
  being_written.write("z");
  being_written.commit();
  EXPECT_EQ(read_file(directory_ / "z"), "z");
}

TEST_F(Files, WritingToALinkReplacesItsTarget) {
  write_file_atomically(directory_ / "there" / "target", "old");
  fs::create_directories(directory_ / "links");
  fs::create_symlink("../there/target", directory_ / "links" / "inner");
  fs::create_symlink("links/inner", directory_ / "outer");
  for (const auto write : {write_file_atomically, write_output}) {
    write(directory_ / "outer", "new");
    EXPECT_TRUE(fs::is_symlink(directory_ / "outer"));
    EXPECT_TRUE(fs::is_symlink(directory_ / "links" / "inner"));
    EXPECT_EQ(read_file(directory_ / "there" / "target"), "new");
    fs::remove(directory_ / "there" / "target");  // the next output creates it
  }
  fs::create_symlink("circle", directory_ / "circle");
  EXPECT_THROW(write_output(directory_ / "circle", "x"), Error);
}

TEST_F(Files, ANameThatEndsInASlashMakesNoFolder) {
  EXPECT_THAT(error_of([&] { write_file_atomically(directory_ / "new" / "", "x"); }),
              HasSubstr("names a folder"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new"));
}

TEST_F(Files, NothingButARegularFileIsReplaced) {
  fs::create_directories(directory_ / "folder");
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", directory_ / "device");
  EXPECT_THAT(error_of([&] { write_output(directory_ / "folder", "x"); }),
              HasSubstr("is a folder"));
  for (const auto& [name, what] :
       {std::pair("folder", "is a folder"), std::pair("fifo", "is a FIFO"),
        std::pair("device", "is a device")}) {
    const std::string error = error_of([&] { write_file_atomically(directory_ / name, "x"); });
    EXPECT_THAT(error, HasSubstr(what));
  }
  EXPECT_TRUE(fs::is_fifo(directory_ / "fifo"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "device"));
  EXPECT_TRUE(fs::is_directory(directory_ / "folder"));
}

TEST_F(Files, AnOutputGoesThroughDevicesAndFifos) {
  fs::create_symlink("/dev/null", directory_ / "null");
  write_output(directory_ / "null", "x");
  EXPECT_TRUE(fs::is_symlink(directory_ / "null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/full", directory_ / "full");
  const std::string error = error_of([&] { write_output(directory_ / "full", "x"); });
  EXPECT_THAT(error, HasSubstr("No space left"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "full"));
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  std::string received(16, '\0');
  std::thread reader([&] {
    const int fifo = ::open((directory_ / "fifo").c_str(), O_RDONLY);
    const ssize_t count = ::read(fifo, received.data(), received.size());
    received.resize(count < 0 ? 0 : static_cast<size_t>(count));
    ::close(fifo);
  });
  write_output(directory_ / "fifo", "through it");
  reader.join();
  EXPECT_EQ(received, "through it");
}

// Replacing the file would lose all later standard output.
TEST_F(Files, AnOutputThatIsStandardOutputIsAppended) {
  const fs::path file = directory_ / "out", link = directory_ / "link";
  fs::create_symlink("/dev/stdout", link);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(file.c_str(), "w", stdout) == nullptr) ::_exit(3);
    std::fputs("before ", stdout);
    write_output(link, "between ");
    std::fputs("after", stdout);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(file), "before between after");
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", directory_ / "to_fifo");
  fs::create_symlink("/dev/zero", directory_ / "zero");
  fs::create_symlink("nowhere", directory_ / "dangling");
  fs::create_symlink("circle", directory_ / "circle");
  for (const auto& [name, what] :
       {std::pair("fifo", "is a FIFO"), std::pair("to_fifo", "is a FIFO"),
        std::pair("zero", "is a device"), std::pair("dangling", "is a broken link (to nowhere)"),
        std::pair("circle", "is a broken link")}) {
    const std::string error = error_of([&] { read_file(directory_ / name); });
    EXPECT_THAT(error, HasSubstr(what));
    EXPECT_THAT(error, HasSubstr(name));
  }
  write_file_atomically(directory_ / "file", "x");
  fs::create_symlink("file", directory_ / "link");
  EXPECT_EQ(read_file(directory_ / "link"), "x");
}

TEST_F(Files, AFileAboveTheSizeLimitIsRefused) {
  write_file_atomically(directory_ / "ten", "0123456789");
  EXPECT_EQ(read_file(directory_ / "ten", 10), "0123456789");
  const std::string error = error_of([&] { read_file(directory_ / "ten", 9); });
  EXPECT_THAT(error, HasSubstr("ten: has more than 9 bytes"));
  // The file does not report its size.
  EXPECT_THROW(read_file("/proc/self/status", 9), Error);
  EXPECT_GT(read_file("/proc/self/status").size(), 9u);
  fs::resize_file(directory_ / "ten", uint64_t{1} << 42);  // a hole
  EXPECT_THROW(read_file(directory_ / "ten", 1 << 20), Error);
}

TEST_F(Files, TheKindOfFileAtAPathIsNamed) {
  EXPECT_EQ(what_is_at(directory_), "a folder");
  EXPECT_EQ(what_is_at(directory_ / "none"), "missing");
  EXPECT_EQ(what_is_at(directory_ / "none" / "inner"), "missing");
  write_file_atomically(directory_ / "file", "");
  EXPECT_EQ(what_is_at(directory_ / "file"), "a regular file");
  EXPECT_EQ(what_is_at(directory_ / "file" / "inner"), "missing");
  fs::create_symlink("none", directory_ / "broken");
  EXPECT_EQ(what_is_at(directory_ / "broken"), "a broken link (to none)");
}

TEST_F(Files, OnlyAPathWithNothingAtItIsMissing) {
  write_file_atomically(directory_ / "file", "");
  fs::create_symlink("none", directory_ / "broken");
  fs::create_symlink("loop", directory_ / "loop");
  EXPECT_TRUE(is_missing(directory_ / "none"));
  EXPECT_TRUE(is_missing(directory_ / "file" / "inner"));
  for (const char* name : {".", "file", "broken", "loop"}) {
    EXPECT_FALSE(is_missing(directory_ / name)) << name;
  }
  // The kernel refuses this name for its length: whether a file is there is not known.
  EXPECT_FALSE(is_missing(directory_ / std::string(300, 'a')));
}

}  // namespace
}  // namespace strata
