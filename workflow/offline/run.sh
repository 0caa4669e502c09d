#!/usr/bin/env bash
# Runs what is missing of a grid on one GPU, on a machine that can reach no package index, in a copy of this checkout.
#   run.sh -w FOLDER -d DATA [-p PACK.tar.xz] [-c CONFIG] [-j JOBS] [-t SECONDS] [-o OUT] [-m] [-a ARGUMENTS] [FILE ...]
# -w  the copy: made where it is not there. Started again with the same one, a run goes on where it was.
# -d  the folder of the datasets: scenarios of others are left out
# -p  what pack.sh made; without it, Snakemake must be there
# -c  the grid (config/paper.yaml)
# -j  jobs that share the GPU (4)
# -t  stop after so many seconds; what is finished stays (no limit)
# -o  where to pack what is finished (collect.sh), every two minutes and at the end; finished models of an unfinished scenario
#     are measured first (verify.sh)
# -m  share the GPU by NVIDIA's MPS: kernels of several jobs then run at once
# -a  more arguments of snakemake, such as -a "--prioritize FILE" or -a -n
# FILEs are what to make: without any, all that `python -m sifu missing` names. Two runs at once, of other
# datasets, need two folders, and share the GPU's memory: an audit takes 20 GB, ten seeds of a network up to 28.
set -euo pipefail
config=config/paper.yaml jobs=4 seconds=0 folder='' data='' pack='' out='' mps='' more=()
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
while getopts hw:d:p:c:j:t:o:ma: flag; do
  case $flag in
    w) folder=$OPTARG ;; d) data=$OPTARG ;; p) pack=$OPTARG ;; c) config=$OPTARG ;;
    j) jobs=$OPTARG ;; t) seconds=$OPTARG ;; o) out=$OPTARG ;; m) mps=yes ;; a) read -ra more <<< "$OPTARG" ;;
    h) usage; exit 0 ;; *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
test -n "$folder" && test -n "$data" || { usage >&2; exit 2; }
test -d "$data" || { echo "error: -d $data: there is no such folder" >&2; exit 2; }
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "error: -j $jobs: it must be a whole number of 1 or more" >&2; exit 2; }
checkout=$(realpath "$(dirname "$0")/../..")
mkdir -p "$folder"
folder=$(realpath "$folder") python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$PWD/$python ;; esac # it is called from other folders, too
export SIFU_DATA_ROOT; SIFU_DATA_ROOT=$(realpath "$data")
export SIFU_COMMIT=${SIFU_COMMIT:-$(git -C "$checkout" describe --always --dirty --abbrev=12 2> /dev/null || echo unknown)}
export PYTHONPATH=$folder:$folder/.site

if ! test -e "$folder/.began"; then
  mkdir -p "$folder/.site"
  if test -n "$pack"; then tar -xf "$pack" -C "$folder/.site"; fi
  (cd "$checkout" && PYTHONDONTWRITEBYTECODE=1 $python -m sifu unpack-results --config "$config")
  # of the results only searches, and what unfinished audits have counted: everything else is made here, from its training on
  (shopt -s nullglob && cd "$checkout" && tar --exclude='*.pyc' -cf - Snakefile config profiles sifu \
    workflow results/*/search results/*/audit/*/*/.unfinished) | tar -xf - -C "$folder"
  # searches that were made before are used as they are, however new their datasets and partitions are here
  if test -d "$folder/results"; then find "$folder/results" -name search.parquet -execdir touch .given ';'; fi
  touch "$folder/.began"
fi
if test -n "$mps"; then
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/sifu-mps CUDA_MPS_LOG_DIRECTORY=/tmp/sifu-mps
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY"
  echo get_server_list | nvidia-cuda-mps-control > /dev/null 2>&1 || nvidia-cuda-mps-control -d
fi
if test $# = 0; then
  # asked in the checkout, whose results are what has been run before
  missing=$(cd "$checkout" && PYTHONDONTWRITEBYTECODE=1 $python -m sifu missing --with-scratch --config "$config")
  mapfile -t wanted <<< "$missing"
  set -- "${wanted[@]}"
  test -n "$missing" || { echo "nothing is missing of $config, of the datasets in $data"; exit 0; }
fi
if test -n "$out"; then # packed while it runs: the machine may be taken away at any time
  out=$(realpath -m "$out")
  collect() { # models are measured before, as weights are not packed
    PYTHON=$python bash "$checkout/workflow/offline/verify.sh" "$folder" "$SIFU_DATA_ROOT" > "$folder/.verify.log" 2>&1 || true
    bash "$checkout/workflow/offline/collect.sh" "$folder" "$out" > "$folder/.collect.log" 2>&1 || true
  }
  while sleep 120; do collect; done > /dev/null 2>&1 &
  trap 'kill '$! EXIT
fi
# scratch first: all others are measured against it, and what a cut-off run has without it is lost
mapfile -t scratch < <(printf '%s\n' "$@" | grep /unlearn/.*/scratch/ || true)
if test ${#scratch[@]} != 0; then more=(--prioritize "${scratch[@]}" "${more[@]}"); fi
cd "$folder"
code=0 # a shell that was started in the background ignores SIGINT, and so would its children
env --default-signal=INT timeout -s INT -k 30 "$seconds" $python -m snakemake --scheduler greedy --workflow-profile profiles/gpu \
  --configfile "$config" --cores $((2 * jobs)) --resources gpu="$jobs" "${more[@]}" -- "$@" || code=$?
if test -n "$out"; then
  unset CUDA_MPS_PIPE_DIRECTORY # its server may have gone with the jobs that were cut off
  collect
fi
exit $code
