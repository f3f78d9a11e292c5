#!/bin/bash
# What the scripts of this directory share: the machines over ssh(1), one connection to each, and the time of every step. Read by them.
# shellcheck disable=SC2086 # lists of machines are split
all=$(echo $CONTROL_PLANES $WORKERS)
first=${CONTROL_PLANES%% *}
began=$(date +%s%N)
step() { printf '%d.%03d %s\n' $((($(date +%s%N) - began) / 1000000000)) $((($(date +%s%N) - began) / 1000000 % 1000)) "$*"; }
name() { echo "${1%%=*}"; }
ip() { echo "${1#*=}"; }
on() { local n=$1; shift; ssh -F "$SSH_CONFIG" -o ControlMaster=auto -o ControlPath="$WORK/%n" -o ControlPersist=600 "$(name "$n")" "$@"; }
mkdir -p "$WORK"
trap 'for n in $all; do ssh -F "$SSH_CONFIG" -o ControlPath="$WORK/%n" -O exit "$(name "$n")" 2>/dev/null || true; done' EXIT
each() { # FUNCTION MACHINES… side by side; the first failure is one of the script
	local f=$1 pids=() p; shift
	for n in "$@"; do "$f" "$n" & pids+=($!); done
	for p in "${pids[@]}"; do wait "$p"; done
}
