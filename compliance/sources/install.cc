#include "compliance/sources/install.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files/files.h"
#include "base/files/temporary_folder.h"
#include "compliance/sources/rule_store.h"
#include "compliance/sources/sha256.h"

extern char** environ;

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

struct PinnedWheel {
  const char* version;
  const char* sha256;
  const char* folder;  // below files.pythonhosted.org/packages
};

// Source: https://pypi.org/pypi/mlperf-logging/json.
constexpr PinnedWheel kPinned[] = {
    {"4.1.68", "1f199ff35625308786fe3410410d3b03a32661a8b2babd022eacad7b91166f03",
     "60/34/b4554ff5fe2ec569ac738c83491c807cd55d846d41fa2a840d745e3ee6ae"},
    {"4.1.67", "6e17b39ebece16bfe045c7cffeeff061c3738a4c0b428bc31432371fb9b79197",
     "97/57/14437e55416898b1cbe35f224c7af27bba5ebb7735d8485f016aa7ddb144"},
    {"4.1.66", "f32c787676d009492d8676a43c85def488e91923212514fcd160e5f9560864bc",
     "10/97/5bbf58ba10cae461c6f996ae66ab74c8887dbdb88c8c6b43d6b60ac40792"},
    {"4.1.65", "9d58765a36854d084fe81bf8a0ac0febdb769299b32b96604f4225c1432939c8",
     "1b/c7/f477db0f5827085a8694a761e0b176e6b90cbd607caed255cdb3aa2d854c"},
    {"4.1.64", "f0993c7f51c0477511952f48095af9bdbf0fda93620060c8718d8f4fe4b967b6",
     "b9/f1/ff2f968ca500ada3456fd72d54b52f97ed79b64b2f036680c91b6c4e602e"},
    {"4.1.63", "85f7ffc4d7c7ccb360e7d3f18ad88ab6ff33529e75276995e605252bdce501ef",
     "d3/0c/2191330570f2acbd842d825612fda4985e39b4d045b4dff36d01f85cb32f"},
    {"4.1.62", "a6420fad6492e5151771a07c6ac785f1a108382915140ac4e9ed7d7a8a675786",
     "8f/c7/45bf36b7bff0843a26fa483c48c0202d3f0fd1d7811e7aef0651f11cd8ce"},
    {"4.1.61", "e80974f6fbb63c032b5564e3d43b97411f16f3b9c834577bf27a811a3150f698",
     "58/37/37cebc2e4b6c75e080511f683614880ffdbaf1c3fcbe343d1171ac82cc12"},
    {"4.1.60", "7726bfdb79525d595f9a710c5374f2097a2fc0f0c34dd337c17a7e83341feded",
     "bb/c4/fb412977f9c2c33d76324bb5ae7928566075d23265a9c9bdeb401dee436b"},
    {"4.1.59", "8fd45a6126e31a7427d6e8f2eb9e4dbd434d95f591afa66a12040a15c87817b0",
     "d8/cb/f6d210e2ad6d8bcb78f7420ba8a4999ebe0dc8a1d626e4f74fb74479b588"},
    {"4.1.58", "54d96d3d3773e533628afd9c627f4bc2551d7f325ce812c2428b49e348ad96d5",
     "b5/eb/0139bc134e19c8034eac4a4733e7d75517fc9683977b1dd6058338f8c62d"},
    {"4.1.57", "74e39565d6b31a87bfb70b60bc861019cde3fbec27ad0c168130d37f0652add5",
     "64/bf/0412697ad62e3c10b94564b28064ec9dd452f212e7f14b95ee10ac0e9be7"},
    {"4.1.56", "132a023b278784e037ca6bd20ee7d4111558de200881ca8ae980e493eedbcf76",
     "e8/e9/df55cb6b45bc8cdcbea4ec116958af7e4a240410ee2ffc894438af73fd5d"},
    {"4.1.55", "93f27a04c7b742336e315c9b184e49760a0ce22d6fc5cfe38afcf33a176956ec",
     "cb/b4/0d13f539d4c2bbcf0bd4607940eb204e1744eb9f997255820437bff994e8"},
    {"4.1.54", "2e1d73c004f4148f942cf911eddfce2631314070453575640c7fa05e0d075d1f",
     "ae/45/f0a8f9ea9de8c52a040105ca7854efccd1c83eae9b275c0131be5d1dc161"},
    {"4.1.53", "643d686fca2da35f47a9fc3e44fd9a93e0754151999397bda68dc2fea1be6521",
     "26/1b/de9abe2f3b0493323131493d8b2f63669889c0847b30eaaa18b6d6968f7d"},
    {"4.1.52", "0df0d503585e8dc2094a77f62978d08f4981797b1cdf142d38d840910f487846",
     "00/51/c13613fc57f84b3682ff1861983ebbc436593da7b2a1d69889d7f016bdbd"},
    {"4.1.51", "c74e151f3990083249ded4937751bf7e9187fc1b261647597633aab818f58ede",
     "a5/62/484c898118e1e2f052c0d7b4bf7ecb7129974c0a313226877d2b23c65716"},
    {"4.1.50", "0019556512228aaffec571207d0c4bd8f6debc43e9c57f69f7b1e30af76e26ac",
     "23/5f/0132947d8cc57285667f1fc3772f9f53ddf79eafbb8c12a4cd2f0c429afb"},
    {"4.1.49", "54d43d7b0f1af3c962d7a4e8396741befca8281db71571c486c8c7908e76325f",
     "80/46/16dcc2772189454e7a7eb13a17b090c14b39765685b6d18be52373adc05e"},
};

// The rounds that the newest pinned version has rules for.
constexpr std::pair<std::string_view, std::string_view> kInstallable[] = {
    {"training", "0.6.0"}, {"training", "0.7.0"}, {"training", "1.0.0"}, {"training", "1.1.0"},
    {"training", "2.0.0"}, {"training", "2.1.0"}, {"training", "3.0.0"}, {"training", "3.1.0"},
    {"training", "4.0.0"}, {"training", "4.1.0"}, {"training", "5.0.0"}, {"training", "5.1.0"},
    {"training", "6.0.0"}, {"training", "6.1.0"}, {"hpc", "1.0.0"},      {"hpc", "2.0.0"},
    {"hpc", "3.0.0"}};

constexpr uint64_t kMostWheelBytes = 64 << 20;  // current wheels have 0.4 MB

// Exit code for a missing program.
constexpr int kNotThere = -1;

// Runs a program with its messages on our standard error, and waits for it. Returns its exit code,
// 128 + the signal that ended it, or kNotThere.
int run(std::vector<std::string> words) {
  words[0] = find_program(words[0]);
  if (words[0].empty()) return kNotThere;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, 2, 1);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT || error == EACCES) return kNotThere;
  if (error != 0) fail("{} cannot be run: {}", words[0], std::strerror(error));
  const std::optional<int> status = wait_for(child);
  if (!status) fail("cannot get the exit code of {}: {}", words[0], std::strerror(errno));
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

// Returns a new folder in `parent`, which need not exist.
std::unique_ptr<TemporaryFolder> make_workplace(const fs::path& parent) {
  std::error_code ignored, error;
  fs::create_directories(parent, ignored);
  auto folder = std::make_unique<TemporaryFolder>(parent, ".unfinished.", error);
  if (error) fail("{}: cannot create a folder in it: {}", parent.string(), error.message());
  return folder;
}

const PinnedWheel* find_pinned(const std::string& version) {
  const auto found = std::ranges::find_if(
      kPinned, [&](const PinnedWheel& wheel) { return version == wheel.version; });
  return found == std::end(kPinned) ? nullptr : found;
}

std::string wheel_name(const std::string& version) {
  return "mlperf_logging-" + version + "-py3-none-any.whl";
}

// Fetches the wheel into `folder`, under its own name. `hash` is its SHA-256.
fs::path fetch(const std::string& version, const PinnedWheel* pinned, const std::string& hash,
               const fs::path& folder) {
  const fs::path wheel = folder / wheel_name(version);
  std::string tried;
  std::error_code ignored;
  if (pinned != nullptr) {
    const std::string url = fmt::format("https://files.pythonhosted.org/packages/{}/{}",
                                        pinned->folder, wheel.filename().string());
    const int code = run({"curl", "--fail", "--silent", "--show-error", "--location", "--proto",
                          "=https", "--max-time", "300", "--output", wheel.string(), url});
    if (code == 0 && fs::exists(wheel, ignored)) return wheel;
    tried = code == kNotThere ? "curl is not installed"
                              : fmt::format("curl ended with exit code {}", code);
    fs::remove(wheel, ignored);
  }
  // pip uses the mirrors that a site has configured.
  const int code =
      run({"pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
           "--only-binary", ":all:", "--dest", folder.string(), "mlperf-logging==" + version});
  if (code == 0 && fs::exists(wheel, ignored)) return wheel;
  if (!tried.empty()) tried += ", ";
  tried +=
      code == kNotThere ? "pip is not installed" : fmt::format("pip ended with exit code {}", code);
  fail(
      "mlperf-logging {} could not be downloaded: {}. Install {} and connect to a network, or copy "
      "{} to this machine and run: strata rules install {}{} --wheel FILE",
      version, tried, pinned != nullptr ? "curl or pip" : "pip", wheel.filename().string(), version,
      pinned != nullptr ? "" : " --sha256 " + hash);
}

void unpack(const fs::path& wheel, const fs::path& folder) {
  const std::string from = wheel.string(), to = folder.string();
  fs::create_directory(folder);
  std::string tried;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"unzip", "-q", "-d", to, from},
                                             {"python3", "-I", "-m", "zipfile", "-e", from, to},
                                             {"bsdtar", "-x", "-C", to, "-f", from}}) {
    const int code = run(command);
    if (code == 0) return;
    tried += fmt::format(
        "{}{} {}", tried.empty() ? "" : ", ", command[0],
        code == kNotThere ? "is not installed" : fmt::format("ended with exit code {}", code));
  }
  fail("the wheel could not be unpacked: {}; install one of these programs", tried);
}

bool is_version(const std::string& text) {
  return !text.empty() && text.size() <= 40 && text.find_first_not_of("0123456789.") == text.npos &&
         text.front() != '.';
}

}  // namespace

std::vector<std::string> pinned_versions() {
  std::vector<std::string> versions;
  for (const PinnedWheel& wheel : kPinned) versions.emplace_back(wheel.version);
  return versions;
}

bool has_installable_rules(std::string_view usage, std::string_view ruleset) {
  return std::ranges::find(kInstallable, std::pair(usage, ruleset)) != std::end(kInstallable);
}

std::string how_to_get_rules(std::string_view usage, std::string_view ruleset) {
  if (has_installable_rules(usage, ruleset)) {
    return fmt::format("'strata rules install' installs them (mlperf-logging {})",
                       kPinned[0].version);
  }
  return fmt::format("'strata rules install' (mlperf-logging {}) has no such rules either",
                     kPinned[0].version);
}

Installed install_rules(const InstallOptions& options) {
  const std::string version = options.version.empty() ? kPinned[0].version : options.version;
  if (!is_version(version)) fail("'{}' is not a version; an example is 4.1.68", version);
  const PinnedWheel* pinned = find_pinned(version);
  if (pinned == nullptr && options.sha256.empty()) {
    fail(
        "the hash of mlperf-logging {} is unknown; the known versions are: {}. For another "
        "version, give its hash with --sha256",
        version, fmt::join(pinned_versions(), ", "));
  }
  if (options.folder.empty()) fail("there is no folder for rules: set HOME or XDG_DATA_HOME");
  const fs::path folder = options.folder / ("mlperf_logging-" + version);
  Installed installed{folder / "mlperf_logging", version, false};
  std::error_code error;
  if (fs::exists(folder, error)) {
    const RuleStore whole(installed.package);
    installed.was_there = true;
    return installed;
  }
  const std::string wanted = options.sha256.empty() ? pinned->sha256 : options.sha256;
  if (pinned != nullptr && wanted != pinned->sha256)
    fail("--sha256 {}: is not the hash of mlperf-logging {}, which is {}", wanted, version,
         pinned->sha256);

  const auto workplace = make_workplace(options.folder);
  const fs::path wheel =
      options.wheel.empty() ? fetch(version, pinned, wanted, workplace->path()) : options.wheel;
  // Unpacks the hashed bytes, so that later changes of the file do not matter.
  const std::string bytes = read_file(wheel, kMostWheelBytes);
  if (const std::string found = sha256(bytes); found != wanted) {
    fail("{}: its SHA-256 is {}, but that of mlperf-logging {} is {}; nothing was installed",
         options.wheel.empty() ? wheel.filename().string() : wheel.string(), found, version,
         wanted);
  }
  const fs::path verified = workplace->path() / "verified.zip";
  write_file_atomically(verified, bytes);
  const fs::path unpacked = workplace->path() / "unpacked";
  unpack(verified, unpacked);
  const RuleStore whole(unpacked / "mlperf_logging");  // throws if it holds no rules
  fs::rename(unpacked, folder, error);
  if (error && !fs::exists(folder))
    fail("{}: cannot rename the unpacked folder to this path: {}", folder.string(),
         error.message());
  return installed;
}

}  // namespace strata::compliance
