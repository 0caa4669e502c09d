#!/usr/bin/env bash
# Measures the models of a run of run.sh that was cut off. A scenario is verified when all its methods are done; where some
# are not, this measures those that are, as weights are not packed. collect.sh then packs the numbers.
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
cd "$1"
export PYTHONPATH=$PWD:$PWD/.site
for scratch in results/*/unlearn/*/scratch/*/cells.parquet; do
  results=${scratch%%/unlearn/*}
  IFS=/ read -r scenario _ block _ <<< "${scratch#"$results"/unlearn/}"
  if test -e "$results/verify/$scenario/$block/metrics.parquet"; then continue; fi
  variants=()
  for cells in "$results/unlearn/$scenario"/*/"$block"/cells.parquet; do
    variants+=("$(basename "$(dirname "$(dirname "$cells")")")")
  done
  echo "$scenario $block: ${variants[*]}"
  $python -m sifu verify --scenario "$scenario" --block "$block" --variants "${variants[@]}" --config config \
    --results "$results" --data-root "$data"
done
