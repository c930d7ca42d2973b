#!/bin/sh
# Open MPI's mpirun as tests and the quickstart need it: ranks may outnumber cores, are bound to none
# (their threads would share one core), and may run as root, as in a container. When one rank ends with an error, the
# others are killed at once: mpirun would wait for its grace period twice, and the log is ended all the same.
# Usage: scripts/mpirun.sh -n RANKS PROGRAM [ARGUMENT...]
set -eu
export LC_ALL=C.UTF-8
if [ "$(id -u)" -eq 0 ]; then
  set -- --allow-run-as-root "$@"
fi
exec mpirun --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 0 "$@"
