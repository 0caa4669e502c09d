#!/usr/bin/env bash
# Measures finished models of a run of run.sh whose scenario is not finished. A scenario is verified when all its methods are
# done; this measures those that are, each once and next to scratch, as weights are not packed. collect.sh then packs the numbers.
#   verify.sh FOLDER DATA         FOLDER: of run.sh; DATA: the folder of the datasets
set -euo pipefail
usage() { sed -n '2,4s/^# //p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
test $# = 2 || { usage >&2; exit 2; }
test -e "$1/.began" || { echo "error: $1 is no folder of run.sh" >&2; exit 2; }
test -d "$2" || { echo "error: $2: there is no such folder" >&2; exit 2; }
data=$(realpath "$2") python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$PWD/$python ;; esac # it is called from another folder
shopt -s nullglob
exec 9> "$1/.verifying" # run.sh may be at it
flock 9
cd "$1"
export PYTHONPATH=$PWD:$PWD/.site
add_part='import sys; from pathlib import Path; from sifu.replication.add_part import add_part; add_part(*map(Path, sys.argv[1:]))'

measure() { # RESULTS SCENARIO BLOCK VARIANT...: in a results folder of its own, whose rows are then added
  local results=$1 scenario=$2 block=$3 part=.part/$1
  rm -rf .part
  mkdir -p "$part"
  for stage in "$results"/*/; do ln -s "$PWD/$stage" "$part/$(basename "$stage")"; done
  rm -f "$part/verify"
  echo "$scenario $block: ${*:4}"
  $python -m sifu verify --scenario "$scenario" --block "$block" --variants "${@:4}" --config config --results "$part" \
    --data-root "$data"
  $python -c "$add_part" "$part" "$results"
}

for scratch in results/*/unlearn/*/scratch/*/cells.parquet; do
  results=${scratch%%/unlearn/*}
  IFS=/ read -r scenario _ block _ <<< "${scratch#"$results"/unlearn/}"
  measured=.measured/$results/$scenario/$block # one file a method
  if test -e "$results/verify/$scenario/$block/metrics.parquet"; then
    if ! test -d "$measured"; then continue; fi # the run itself has verified it
  else
    rm -rf "$measured"
  fi
  mkdir -p "$measured"
  variants=()
  for cells in "$results/unlearn/$scenario"/*/"$block"/cells.parquet; do
    variant=$(basename "$(dirname "$(dirname "$cells")")")
    if test "$variant" != scratch && ! test -e "$measured/$variant"; then variants+=("$variant"); fi
  done
  if test ${#variants[@]} = 0 && test -e "$measured/scratch"; then continue; fi
  measure "$results" "$scenario" "$block" scratch "${variants[@]}"
  for variant in scratch "${variants[@]}"; do touch "$measured/$variant"; done
done
