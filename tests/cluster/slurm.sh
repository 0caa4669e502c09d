#!/usr/bin/env bash
# A Slurm with several nodes on one machine, for the time of a test: loopback only, no systemd, no database.
#   slurm.sh install     Debian's slurm-wlm and munge, if they are missing
#   slurm.sh up DIR      munged, slurmctld and SLURM_NODES (4) times slurmd, all under DIR; waits until all nodes are idle
#   slurm.sh down DIR    cancels its jobs, ends exactly what `up` started, removes DIR and the links in /etc/slurm
#   slurm.sh clear       the same for the Slurm of a killed test; `up` does it, too
# DIR must be named slurm-of-the-tests: by that name a link of ours is recognised even if it points nowhere.
# Every daemon ends by itself after SLURM_LIMIT (5400) seconds, whatever happens to the test: more than every stage takes on a slow machine.
set -euo pipefail
nodes=${SLURM_NODES:-4}
limit=${SLURM_LIMIT:-5400}
etc=${SLURM_ETC:-/etc/slurm} # another folder only in tests of this script
name=slurm-of-the-tests

fail() {
  echo "test-cluster: $*" >&2
  exit 1
}

install_slurm() {
  if command -v slurmctld slurmd munged > /dev/null; then return 0; fi
  local log policy=/usr/sbin/policy-rc.d made=no status=0
  log=$(mktemp)
  # packages must not start their daemons
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
    made=yes
  fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq -o DPkg::Lock::Timeout=60 --no-install-recommends slurm-wlm munge; } \
    > "$log" 2>&1 < /dev/null || status=$?
  if [ "$made" = yes ]; then rm -f "$policy"; fi
  if [ "$status" != 0 ]; then tail -n 3 "$log" >&2; fi
  rm -f "$log"
  [ "$status" = 0 ] || fail "slurm-wlm and munge could not be installed with apt-get (see above)"
}

daemon() { # name command...: under a time limit, its process id in DIR/name.pid
  local name=$1
  shift
  setsid timeout -k 5 "$limit" "$@" < /dev/null > "$dir/log/$name.out" 2>&1 &
  echo $! > "$dir/$name.pid"
}

running() { # zombies do not count
  grep -qs '^State:.[^Z]' "/proc/$1/status"
}

stop() { # a process of ours, unless its number was reused
  local pid
  pid=$(cat "$1")
  if [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = timeout ]; then kill "$pid" 2> /dev/null || true; fi
  for _ in $(seq 100); do
    running "$pid" || return 0
    sleep 0.1
  done
}

ours() { # whether a file of /etc/slurm is the link that `up` made
  [ "$(readlink "$etc/$1" 2> /dev/null)" = "$dir/$1" ]
}

cancel_jobs() {
  timeout 10 squeue -h -o %A 2> /dev/null | sort -u | xargs -r timeout 10 scancel 2> /dev/null || true
  for _ in $(seq 40); do
    [ -n "$(timeout 5 squeue -h -t R,CG 2> /dev/null)" ] || return 0
    sleep 0.25
  done
}

down() {
  if ours slurm.conf && [ -s "$dir/slurmctld.pid" ] && running "$(cat "$dir/slurmctld.pid")"; then cancel_jobs; fi
  local file
  for file in "$dir"/n*.pid "$dir"/slurmctld.pid "$dir"/munged.pid; do
    if [ -s "$file" ]; then stop "$file"; fi
  done
  for file in slurm.conf gres.conf; do
    if ours "$file"; then rm -f "$etc/$file"; fi
  done
  if [ -e "$dir/owner" ]; then rm -rf "$dir"; fi
}

process() { # its number and start time: numbers are reused
  echo "$1 $(sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | cut -d ' ' -f 20)"
}

clear_leftovers() { # after SIGKILL or a restart of the machine `down` was not called
  local file old owner
  for file in slurm.conf gres.conf; do
    old=$(dirname "$(readlink "$etc/$file" 2> /dev/null)")
    [ "$(basename "$old")" = "$name" ] || continue
    owner=$(cat "$old/owner" 2> /dev/null || true)
    [ -z "$owner" ] || [ "$owner" != "$(process "${owner% *}")" ] || fail "process ${owner% *} is running these tests"
    (dir=$old && down)
  done
}

write_gres() { # fake GPUs, which Slurm only allocates and counts
  local node device
  for node in $(seq "$nodes"); do
    device="$dir/dev/n$node/nvidia0"
    mkdir -p "$(dirname "$device")"
    mknod "$device" c 1 3 2> /dev/null || : > "$device"
    echo "NodeName=n$node Name=gpu Type=test File=$device Flags=nvidia_gpu_env"
  done > "$dir/gres.conf"
}

write_conf() {
  # Nodes are declared as large as the profile's jobs need. EXCLUSIVE: one job per node, so that jobs spread over nodes.
  # MinJobAge: the plugin must still see finished jobs. NoInAddrAny: no connections from other machines.
  cat > "$dir/slurm.conf" << CONF
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=16817
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge/sock
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/state/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=0,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=${SLURM_PATIENCE:-30}
SlurmctldTimeout=30
KillWait=2
MinJobAge=600
JobRequeue=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=n[1-$nodes] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[17001-$((17000 + nodes))] CPUs=16 RealMemory=128000 Gres=gpu:test:1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE State=UP
CONF
}

link_conf() { # the plugin removes SLURM_CONF from its jobs, so the built-in path must be used
  ln -s "$dir/slurm.conf" "$dir/gres.conf" "$etc/"
}

start_munged() {
  (umask 077 && head -c 128 /dev/urandom > "$dir/munge/key")
  chmod 711 "$dir/munge"
  daemon munged munged --foreground --force --num-threads=2 --key-file="$dir/munge/key" --socket="$dir/munge/sock" \
    --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed"
  for _ in $(seq 50); do
    [ ! -S "$dir/munge/sock" ] || return 0
    sleep 0.1
  done
  fail "munged did not start: $(cat "$dir/log/munged.out")"
}

wait_idle() {
  for _ in $(seq 120); do
    [ "$(timeout 5 sinfo -h -N -o %T 2> /dev/null | grep -c '^idle$')" != "$nodes" ] || return 0
    sleep 0.25
  done
  tail -n 5 "$dir"/log/* >&2
  fail "Slurm did not come up (its logs are above)"
}

up() {
  local file node
  [ "$(basename "$dir")" = "$name" ] || fail "$dir must be named $name"
  clear_leftovers
  for file in slurm.conf gres.conf; do
    [ ! -e "$etc/$file" ] && [ ! -L "$etc/$file" ] || fail "$etc/$file exists: this machine has a Slurm of its own"
  done
  mkdir "$dir" || fail "$dir must not exist yet"
  trap 'down' ERR EXIT
  process "$PPID" > "$dir/owner"
  chmod 755 "$dir"
  mkdir "$dir"/{state,spool,log,munge}
  start_munged
  write_gres
  write_conf
  link_conf
  unset SLURM_CONF
  daemon slurmctld slurmctld -D
  for node in $(seq "$nodes"); do daemon "n$node" slurmd -D -N "n$node"; done
  wait_idle
  trap - ERR EXIT
}

[ "$(id -u)" = 0 ] || fail "Slurm is installed and started as root: use a container or a virtual machine"
case "${1:-}" in
  install) install_slurm ;;
  clear) clear_leftovers ;;
  up | down)
    dir=${2:?a folder}
    "$1"
    ;;
  *) fail "slurm.sh install | up DIR | down DIR | clear" ;;
esac
