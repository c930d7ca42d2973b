import os
import pathlib
import sys
import sysconfig

# Where pip puts programs: of this Python, of the user, or, with --target, beside the packages.
folders = [
    sysconfig.get_path("scripts"),
    sysconfig.get_path("scripts", "posix_user"),
    pathlib.Path(__file__).resolve().parent.parent / "bin",
]
for folder in folders:
    program = os.path.join(folder, "strata")
    if os.access(program, os.X_OK):
        os.execv(program, [program, *sys.argv[1:]])
sys.exit(f"strata_tools: the program strata is in none of {', '.join(map(str, folders))}; install strata-tools again")
