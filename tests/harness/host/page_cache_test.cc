#include "harness/host/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/files.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

constexpr size_t kPages = 64;

class PageCache : public testing_support::TemporaryDirectory {
 protected:
  PageCache() { write_file_atomically(path_, std::string(kPages * 4096, 'x')); }

  // Returns the number of the file's pages in memory.
  size_t resident() const {
    const int fd = ::open(path_.c_str(), O_RDONLY);
    void* memory = ::mmap(nullptr, kPages * 4096, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char pages[kPages];
    ::mincore(memory, kPages * 4096, pages);
    ::munmap(memory, kPages * 4096);
    ::close(fd);
    size_t count = 0;
    for (const unsigned char page : pages) count += page & 1;
    return count;
  }

  // Files on tmpfs and on overlays of it live only in the cache.
  bool on_a_disk() const {
    constexpr long kTmpfs = 0x01021994;
    struct statfs status;
    return ::statfs(path_.c_str(), &status) == 0 && status.f_type != kTmpfs;
  }

  const std::filesystem::path path_ = directory_ / "data";
};

TEST_F(PageCache, FilesAreRemoved) {
  if (!on_a_disk()) GTEST_SKIP() << "the temporary directory has no disk beneath";
  read_file(path_);
  ASSERT_GT(resident(), 0u);
  const CacheClearing clearing = clear_page_cache(std::span(&path_, 1), false);
  EXPECT_TRUE(clearing.cleared);
  EXPECT_EQ(clearing.what, "1 data file from the page cache");
  EXPECT_EQ(resident(), 0u);
  EXPECT_EQ(read_file(path_).size(), kPages * 4096) << "the file itself stays";
}

TEST_F(PageCache, FilesInDirectoriesAreRemoved) {
  write_file_atomically(directory_ / "more", "x");
  EXPECT_EQ(clear_page_cache(std::span(&directory_, 1), false).what,
            "2 data files from the page cache");
}

TEST_F(PageCache, AFailedClearingIsReported) {
  const std::vector<std::filesystem::path> files = {path_, directory_ / "nowhere"};
  const CacheClearing clearing = clear_page_cache(files, false);
  EXPECT_FALSE(clearing.cleared);
  EXPECT_THAT(clearing.what, HasSubstr("nowhere: No such file"));
  std::filesystem::create_directory(directory_ / "empty");
  const std::filesystem::path empty = directory_ / "empty";
  EXPECT_FALSE(clear_page_cache(std::span(&empty, 1), false).cleared);
}

// Without a standard input, files that it opens get descriptor 0.
TEST_F(PageCache, FilesAreRemovedWithoutAStandardInput) {
  const int before = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  errno = EIO;  // an unrelated error
  const CacheClearing clearing = clear_page_cache(std::span(&path_, 1), false);
  const bool closed = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  EXPECT_TRUE(clearing.cleared) << clearing.what;
  EXPECT_TRUE(closed) << "it left a file open";
}

// During its lifetime root has the rights of another user. Other users keep their rights.
class NotRoot {
 public:
  NotRoot() {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  ~NotRoot() { EXPECT_EQ(::seteuid(user_), 0); }

 private:
  static constexpr uid_t kNobody = 65534;
  const uid_t user_ = ::geteuid();
};

TEST_F(PageCache, OnlyRootMayClearTheWholeCache) {
  const NotRoot user;
  const CacheClearing clearing = clear_page_cache({}, true);
  EXPECT_FALSE(clearing.cleared);
  EXPECT_THAT(clearing.what, HasSubstr("only root may"));
}

}  // namespace
}  // namespace strata::harness
