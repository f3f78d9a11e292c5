# The node's side of a session (agent.go is the other). It runs in a privileged POSIX sh; dash, bash and busybox do. Its standard input
# carries lines and, after the lines that announce them, bytes counted exactly:
#
#   l                 the lease is renewed
#   r ID N, s ID N    N bytes of script and a line "."; the script is run, with no input (r) or with the input that d lines bring (s)
#   d ID N            N bytes of input
#   e ID              the end of the input
#   k ID SIGNAL       the process group of the script gets the signal
#   x ID N            like r, but evaluated here, for what must live as long as the session: the lock
#   w ID              what the script waits for; the answer is a mark "MARK w:STATE:NAME:PID:NAME ID PID" on standard output: the innermost
#                     process, and who holds a lock that it waits for; "-" is unknown
#   q                 the end
#
# Standard output and standard error carry what the script writes between two marks, "MARK b ID 0" and "MARK x ID STATUS" ("MARK y ID 1":
# not begun). MARK is a random word that comes over standard input. What comes outside them is of no command, and is dropped.
unset ENV BASH_ENV CDPATH eg_m eg_p eg_lease eg_w eg_wp eg_pg eg_cur eg_stream eg_held
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
cd /
IFS= read -r eg_m || exit 1
IFS= read -r eg_lease || exit 1
exec 3>&1 4>&2 2>/dev/null
eg_c=
for eg_t in base64 cat dd mkfifo mktemp rm setsid sleep; do
  command -v "$eg_t" >/dev/null || eg_c="$eg_c $eg_t"
done
eg_d=$(umask 077; mktemp -d "${TMPDIR:-/run}/eggo.XXXXXXXX" || mktemp -d /tmp/eggo.XXXXXXXX)
if [ -n "$eg_c" ] || [ ! -d "$eg_d" ]; then
  printf '\n%s\n%s missing 0 1\n' "${eg_c:-a writable /run or /tmp}" "$eg_m" >&4
  exit 1
fi
eg_nap=1 eg_naps=3
sleep 0.01 && eg_nap=0.05 eg_naps=60

# What supervises a script, in a process group of its own. It outlives a TERM of the group to report the status, and does
# not begin a script after one. The script comes over its standard input, after the mark, so that neither is in an argv.
eg_super='unset eg_m eg_p eg_q
trap eg_q=1 TERM INT HUP
IFS= read -r eg_m
printf "%s b %s 0\n" "$eg_m" "$1"
printf "%s b %s 0\n" "$eg_m" "$1" >&2
eg_p=$(cat)
if [ "$2" = s ]; then exec <&5 5<&-; else exec </dev/null; fi
( [ -z "$eg_q" ] || exit 143; eval "$eg_p" )
set -- "$1" $?
printf "%s x %s %s\n" "$eg_m" "$1" "$2"
printf "%s x %s %s\n" "$eg_m" "$1" "$2" >&2'

eg_mark() { printf '%s %s %s %s\n' "$eg_m" "$@" >&3; printf '%s %s %s %s\n' "$eg_m" "$@" >&4; }

# eg_stat PID: state and parent of a process, as $eg_state and $eg_parent
eg_stat() {
  eg_state='' eg_parent='' eg_line=''
  { IFS= read -r eg_line </proc/"$1"/stat; } 2>/dev/null || return 1
  eg_line=${eg_line##*) }
  eg_state=${eg_line%% *}
  eg_line=${eg_line#* }
  eg_parent=${eg_line%% *}
}
# eg_mine PID: it is still a child of this shell, so that its number cannot have gone to somebody else
eg_mine() { [ -n "$1" ] && eg_stat "$1" && [ "$eg_parent" = "$eg_self" ]; }
eg_running() { eg_mine "$1" && [ "$eg_state" != Z ] && [ "$eg_state" != X ]; }
eg_group() { eg_mine "$eg_pg" && { kill -s "$1" -- "-$eg_pg" || kill -s "$1" "$eg_pg"; }; }

# The lease: when it is not renewed in time, the session's input is cut, and all ends as if the other side had hung up.
eg_arm() {
  eg_disarm
  (
    eg_was=$! # of the shell that this one was started by; the sleep changes it
    trap '[ "$!" = "$eg_was" ] || kill -s KILL "$!"; exit 0' TERM
    sleep "$eg_lease" &
    wait "$!"
    kill "$eg_pump"
  ) </dev/null >/dev/null 3>&- 4>&- 7>&- 9>&- &
  eg_w=$!
}

# eg_disarm ends the shell that eg_arm has started. One that was just started still has the traps of this one, and drops a TERM: it is
# repeated. Its sleep gets a KILL from it, for the same reason. If it does not end, it gets a KILL as well.
eg_disarm() {
  eg_n=$eg_naps
  while eg_running "$eg_w"; do
    if [ "$eg_n" -gt 0 ]; then kill "$eg_w"; else kill -s KILL "$eg_w"; fi
    eg_n=$((eg_n - 1))
    eg_running "$eg_w" && sleep "$eg_nap"
  done
  [ -n "$eg_w" ] && wait "$eg_w"
  eg_w=
}

# eg_script N: the script into $eg_p; false when the input ended before it
eg_script() {
  eg_p=$(dd bs="$1" count=1 iflag=fullblock)
  IFS= read -r eg_t && [ "$eg_t" = . ]
}

# A relay stands between a script and the session, one for each stream: a child that the script left behind keeps writing into the relay,
# which is taken away before the next script begins.
eg_relieve() {
  for eg_t in $eg_co $eg_ce; do eg_running "$eg_t" && kill "$eg_t"; wait "$eg_t"; done
  [ -n "$eg_pg" ] && wait "$eg_pg"
  eg_co='' eg_ce='' eg_pg='' eg_cur='' eg_stream=''
  exec 7>&-
}

eg_start() { # MODE ID
  eg_o=$eg_d/o$2 eg_e=$eg_d/e$2 eg_i=
  [ "$1" = s ] && eg_i=$eg_d/i$2
  case $2 in *00) rm -f "$eg_d"/* ;; esac
  if ! mkfifo "$eg_o" "$eg_e" ${eg_i:+"$eg_i"}; then eg_mark y "$2" 1; return; fi
  eg_cur=$2 eg_stream=$eg_i eg_dead=0
  if [ -n "$eg_i" ]; then exec 6<>"$eg_i" 7>"$eg_i" 5<"$eg_i" 6>&-; fi
  cat <"$eg_o" >&3 3>&- 4>&- 5>&- 7>&- 9>&- & eg_co=$!
  cat <"$eg_e" >&4 3>&- 4>&- 5>&- 7>&- 9>&- & eg_ce=$!
  { printf '%s\n' "$eg_m"; printf %s "$eg_p"; } 3>&- 4>&- 5>&- 7>&- 9>&- |
    setsid sh -c "$eg_super" eggo "$2" "$1" >"$eg_o" 2>"$eg_e" 3>&- 4>&- 7>&- 9>&- &
  eg_pg=$!
  exec 5>&-
  eg_p=
}

# eg_check: somebody may have killed the supervisor itself; then nobody else tells how it ended. First what it wrote goes through the
# relays, for which a child that was left behind gets three leases' renewals.
eg_check() {
  if [ -z "$eg_cur" ] || eg_running "$eg_pg"; then return; fi
  eg_dead=$((eg_dead + 1))
  if eg_running "$eg_co" || eg_running "$eg_ce"; then [ "$eg_dead" -gt 3 ] || return; fi
  wait "$eg_pg"
  eg_mark x "$eg_cur" $?
  eg_cur=
}

# eg_name PID: its name as $eg_k, without what a mark cannot carry
eg_name() {
  eg_k=
  { IFS= read -r eg_k </proc/"$1"/comm; } 2>/dev/null
  case $eg_k in '' | *[!A-Za-z0-9._+-]*) eg_k=- ;; esac
}

# eg_waits ID: the answer to w. It runs beside the session, so that whoever does not read the answer does not stop the session.
eg_waits() {
  trap - HUP INT TERM
  eg_q=$eg_pg eg_h=0 eg_hold=-
  [ "$1" = "$eg_cur" ] || eg_q=0
  eg_n=0
  while [ "$eg_q" -gt 0 ] && [ "$eg_n" -lt 32 ]; do
    eg_k=
    for eg_k in $(cat /proc/"$eg_q"/task/*/children 2>/dev/null); do :; done
    [ -n "$eg_k" ] || break
    eg_q=$eg_k eg_n=$((eg_n + 1))
  done
  eg_state=
  eg_stat "$eg_q"
  if [ -r /proc/locks ]; then
    while read -r eg_a eg_b eg_c eg_t eg_x eg_y eg_line; do
      if [ "$eg_b" != '->' ]; then eg_h=$eg_x; elif [ "$eg_y" = "$eg_q" ]; then eg_name "$eg_h"; eg_hold=$eg_k; break; fi
    done </proc/locks
  fi
  [ "$eg_hold" != - ] || eg_h=0
  eg_name "$eg_q"
  printf '%s w:%s:%s:%s:%s %s %s\n' "$eg_m" "${eg_state:--}" "$eg_k" "$eg_h" "$eg_hold" "$1" "$eg_q" >&3
}

eg_await() { # N: waits for the end of the script, N naps at the most
  eg_n=$1
  while [ "$eg_n" -gt 0 ]; do
    eg_running "$eg_pg" || return 0
    sleep "$eg_nap"
    eg_n=$((eg_n - 1))
  done
  return 1
}

eg_end() {
  trap '' HUP INT TERM
  exec 7>&- </dev/null
  if eg_running "$eg_pg"; then
    # What was received is written before the end, so that it need not be sent again.
    [ -n "$eg_stream" ] && eg_await "$eg_naps"
    eg_group TERM
    eg_await "$eg_naps"
    eg_group KILL
  fi
  eg_disarm
  for eg_t in $eg_wp $eg_co $eg_ce; do eg_running "$eg_t" && kill "$eg_t"; done
  rm -rf "$eg_d"
  [ -n "$eg_held" ] && rm -f "$eg_held"
  kill "$eg_pump"
  exit 0
}

eg_loop() {
  IFS= read -r eg_pump || exit 1
  IFS=' ' read -r eg_self eg_t </proc/self/stat
  trap : PIPE
  trap eg_end HUP INT TERM
  eg_arm
  eg_mark ready 0 0
  while IFS=' ' read -r eg_c eg_id eg_a; do
    case $eg_c in
    l) eg_check; eg_arm ;;
    r | s) eg_script "$eg_a" || break; eg_relieve; eg_start "$eg_c" "$eg_id" ;;
    d) if [ -n "$eg_stream" ] && [ "$eg_id" = "$eg_cur" ]; then dd bs="$eg_a" count=1 iflag=fullblock >&7
       else dd bs="$eg_a" count=1 iflag=fullblock >/dev/null; fi ;;
    e) [ "$eg_id" = "$eg_cur" ] && exec 7>&- ;;
    k) if [ "$eg_id" = "$eg_cur" ]; then
         eg_group "$eg_a"
         if [ "$eg_a" = KILL ]; then wait "$eg_pg"; eg_mark x "$eg_id" 137; fi
       fi ;;
    x) eg_script "$eg_a" || break; eg_relieve; eg_mark b "$eg_id" 0; eval "$eg_p" >&3; eg_mark x "$eg_id" $? ;;
    w) eg_running "$eg_wp" || { eg_waits "$eg_id" </dev/null 4>&- 5>&- 7>&- 9>&- & eg_wp=$!; } ;;
    q) break ;;
    esac
  done
  eg_end
}

sh -c 'echo $$; exec cat' 3>&- 4>&- | eg_loop
exit 0
