import os
import pathlib
import sys
import sysconfig

# Where pip puts programs: with --target or --prefix beside this package, else with this Python or the user's files.
package = pathlib.Path(__file__).resolve().parent
folders = [package.parent / "bin", *(parent / "bin" for parent in package.parents[2:4])]
folders += [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")]
for folder in folders:
    program = os.path.join(folder, "strata")
    if os.access(program, os.X_OK):
        os.execv(program, [program, *sys.argv[1:]])
sys.exit(f"strata_tools: the program strata is in none of {', '.join(map(str, folders))}; install strata-tools again")
