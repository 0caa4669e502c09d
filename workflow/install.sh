#!/bin/sh
# Makes the virtual environment of this checkout, or brings it up to date. `make` calls it.
#   install.sh PYTHON FOLDER [EXTRAS]      such as: install.sh python3.12 .venv
# uv installs in seconds; where it cannot be had, pip does the same in minutes. Settings of pip (PIP_INDEX_URL,
# PIP_FIND_LINKS, PIP_NO_INDEX) hold for uv, too.
set -u
case ${1:-} in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
python=$1 folder=$2 extras=${3:-dev,slurm}
uv="uv==0.12.24" # Flower wants one below 0.13, too
version='import sys; print("%d.%d" % sys.version_info[:2])'
needed=$(sed -n 's/^requires-python = ">=3\.\([0-9]*\),<3\.\([0-9]*\)"$/\1 \2/p' pyproject.toml)
lowest=${needed% *} highest=$((${needed#* } - 1))

stop() { echo "error: $1" >&2; exit 1; }

# Whether a Python runs and has a version that pyproject.toml allows.
fits() {
  found=$("$1" -c "$version" 2> /dev/null) || return 1
  test "${found%.*}" = 3 && test "${found#*.}" -ge "$lowest" && test "${found#*.}" -le "$highest"
}

# A Python of this machine that fits, as an example for the user.
example() {
  for minor in $(seq "$highest" -1 "$lowest"); do
    if fits "python3.$minor"; then echo "python3.$minor"; return; fi
  done
  echo "/path/to/python3.$highest"
}

# An environment of another Python, or one whose making was interrupted, is made again.
if ! { fits "$folder/bin/python" && "$folder/bin/python" -m pip --version > /dev/null 2>&1; }; then
  fits "$python" || {
    found=$("$python" -c "$version" 2> /dev/null) && found="is Python $found" || found="is no Python that runs here"
    stop "$python $found; Python 3.$lowest to 3.$highest is needed: name one, such as make PY=$(example)"
  }
  if test -e "$folder"; then
    test -e "$folder/pyvenv.cfg" || stop "$folder is no virtual environment: name another folder, make VENV=..."
    echo "$folder is of another Python, or was not finished: it is made again"
  fi
  rm -rf "$folder"
  "$python" -m venv "$folder" || {
    rm -rf "$folder"
    stop "$python could not make $folder, see above; on Debian and Ubuntu it needs the package python3-venv"
  }
fi

# uv has its own names for pip's settings.
if test -n "${PIP_FIND_LINKS:-}"; then export UV_FIND_LINKS="${UV_FIND_LINKS:-$PIP_FIND_LINKS}"; fi
if test -n "${PIP_INDEX_URL:-}"; then export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"; fi
if test -n "${PIP_NO_INDEX:-}"; then export UV_NO_INDEX="${UV_NO_INDEX:-1}"; fi
pip="$folder/bin/python -m pip install -q --disable-pip-version-check"
if $pip "$uv" 2> /dev/null && "$folder/bin/uv" pip install -q --python "$folder/bin/python" -c constraints.txt -e ".[$extras]"; then
  exit 0
fi
$pip -c constraints.txt -e ".[$extras]" ||
  stop "the packages could not be installed, see above; without a network, or with an index of your own, follow docs/offline.md"
