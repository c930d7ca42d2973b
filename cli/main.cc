// strata: train BERT to a target, check MLPerf logs, score results.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/manual/unknown_command.h"
#include "cli/manual/usage.h"
#include "cli/manual/version.h"
#include "cli/options/outputs.h"

namespace {

// If a standard stream were closed, the next opened file would take its descriptor and receive its
// output. Writing to a stream opened here fails.
void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != stream) std::abort();
  }
}

#ifdef STRATA_TRAINING
bool main_has_returned = false;

// A library that gives up calls exit(1), as OpenMP does if it gets no further thread. That code
// would say that the target was not reached.
void correct_exit_code(int exit_code, void*) {
  if (exit_code != 1 || main_has_returned) return;
  std::fputs(
      "strata: a library ended the program; see its message above. If memory ran out, use fewer "
      "threads\n",
      stderr);
  ::_exit(2);
}
#endif

// Called if an exception has no handler, for example in a library's destructor that gets no memory.
// The process cannot be trusted any more. A run's keeper ends its log.
[[noreturn]] void end_without_handler() {
  try {
    if (const std::exception_ptr exception = std::current_exception()) {
      std::rethrow_exception(exception);
    }
  } catch (const std::bad_alloc&) {
    std::fputs("strata: out of memory; use a smaller batch, fewer threads or fewer ranks\n",
               stderr);
    ::_exit(2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strata: unexpected error: %s\n",
                 strata::printable_error(error.what()).c_str());
    ::_exit(2);
  } catch (...) {
  }
  std::abort();
}

int refuse_standard_output(const char* reason) {
  std::fprintf(stderr, "strata: cannot write to standard output: %s\n", reason);
  return 2;
}

// Returns `exit_code`, or 2 if not all output has been written.
int flush_standard_output(int exit_code) {
  errno = 0;
  std::cout.flush();
  std::fflush(stdout);
  if (std::ferror(stdout) == 0 && std::cout.good()) return exit_code;
  return refuse_standard_output(errno == 0 ? "it accepts no more data" : std::strerror(errno));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{
      "Strata: an MLPerf-style BERT pretraining benchmark and the tools around such runs.\n"
#ifdef STRATA_TRAINING
      "Start with scripts/quickstart.sh, or 'strata COMMAND --help'."};
#else
      "This program has only the tools. The commands train, eval, data, search and bench are in "
      "the package strata-training.\nStart with 'strata COMMAND --help'."};
#endif
  app.name("strata");
  app.require_subcommand(1);
  app.set_version_flag("--version", strata::cli::version_text,
                       "Version, commit, instruction sets of this machine, libraries");
  app.failure_message(strata::cli::usage_error);
  int exit_code = 0;
#ifdef STRATA_TRAINING
  strata::cli::add_train_command(app, exit_code);
  strata::cli::add_eval_command(app, exit_code);
  strata::cli::add_data_command(app, exit_code);
  strata::cli::add_search_command(app, exit_code);
  strata::cli::add_bench_command(app, exit_code);
#endif
  strata::cli::add_check_command(app, exit_code);
  strata::cli::add_score_command(app, exit_code);
  strata::cli::add_package_command(app, exit_code);
  strata::cli::add_rules_command(app, exit_code);
  strata::cli::add_rcp_command(app, exit_code);
  strata::cli::add_compare_command(app, exit_code);
  strata::cli::add_plan_command(app, exit_code);
  strata::cli::add_plot_command(app, exit_code);
  strata::cli::add_report_command(app, exit_code);
  strata::cli::add_export_command(app, exit_code);
  strata::cli::add_manual_commands(app, exit_code);
  strata::cli::guard_outputs(app);
  try {
    strata::cli::refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
    return flush_standard_output(exit_code);
  } catch (const CLI::ParseError& error) {
    return flush_standard_output(app.exit(error) == 0 ? 0 : 2);
  }
}

int run(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::system_error& error) {
    // A print that fails throws this.
    if (std::ferror(stdout) != 0) return refuse_standard_output(error.code().message().c_str());
    strata::print_to_stderr("strata: {}\n", strata::printable_error(strata::message_of(error)));
    return 2;
  } catch (const std::exception& error) {
    strata::print_to_stderr("strata: {}\n", strata::printable_error(strata::message_of(error)));
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // makes exceeding the limit an error
  std::set_terminate(end_without_handler);
#ifdef STRATA_TRAINING
  ::on_exit(correct_exit_code, nullptr);
  const int exit_code = run(argc, argv);
  main_has_returned = true;
  return exit_code;
#else
  return run(argc, argv);
#endif
}
