#!/usr/bin/env bash
# Packs the tables that a run of run.sh has finished, without histories, weights and the margins of oracles, the times of all
# jobs, and what an unfinished audit has counted, in parts of 15 MB at most.
#   collect.sh FOLDER OUT         OUT/NAME.tgz.aa, .ab, ...; NAME is the last part of FOLDER
#   mkdir part; cat OUT/NAME.tgz.* | tar xz -C part; python -m sifu add-part part   adds what is new to a checkout's results
set -euo pipefail
usage() { sed -n '2,5s/^# //p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
test $# = 2 || { usage >&2; exit 2; }
test -e "$1/.began" || { echo "error: $1 is no folder of run.sh" >&2; exit 2; }
mkdir -p "$2"
exec 9> "$1/.collecting" # run.sh may be packing the same folder
flock 9
out=$(realpath "$2")/$(basename "$1").tgz
rm -f "$out".new.*
cd "$1"
find results -type f -newer .began \
  \( -name '*.parquet' -o -name time.json -o -path '*/audit/*/.unfinished/*.json' \) -not -name '.*' \
  -not -name curves.parquet -not -name sensitivity.parquet -not -name examples.parquet -not -path '*/partition/*' \
  -not -path '*/oracles/*.parquet' -print0 |
  tar --null -T - -cz | split -b 15m - "$out.new."
rm -f "$out".[a-z][a-z]
for part in "$out".new.*; do mv "$part" "$out.${part##*.}"; done # whole at any time
ls -l "$out".*
