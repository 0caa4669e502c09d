#!/usr/bin/env bash
# Packs Snakemake and what else the suite needs for a machine that can reach no package index: some 12 MB.
# torch, NumPy, SciPy, pandas, PyArrow, seaborn, PyYAML, safetensors, rich and Pillow must be there already.
#   pack.sh OUT.tar.xz        PACK_PYTHON=3.12, PACK_MACHINE=x86_64: what Python and processor are there
set -euo pipefail
usage() { sed -n '2,4s/^# //p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
test $# = 1 || { usage >&2; exit 2; }
out=$(realpath -m "$1") checkout=$(realpath "$(dirname "$0")/../..")
python=${PYTHON:-python3} machine=${PACK_MACHINE:-x86_64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t wanted < <(grep -E '^(snakemake|dp-accounting)==' "$checkout/constraints.txt")
$python -m pip wheel -q --no-deps -w "$work/wheels" "connection_pool>=0.0.3" # has no wheel on the index
# no warnings of conflicts: they are with packages of this machine, which the pack has nothing to do with
$python -m pip install -q --target "$work/site" --python-version "${PACK_PYTHON:-3.12}" --only-binary=:all: --no-compile \
  --platform "manylinux_2_28_$machine" --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" \
  --no-warn-conflicts --find-links "$work/wheels" "${wanted[@]}"
cd "$work/site"
rm -rf bin pulp/solverdir # the solver: `--scheduler greedy` does without
rm -rf {numpy,scipy,pandas,pyarrow,yaml,PyYAML,pyyaml,_yaml}{,.*,-*}
mkdir -p "$(dirname "$out")"
tar -cJf "$out" .
du -h "$out"
