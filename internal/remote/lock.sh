# Whoever holds the lock without a name is about to write it, or has removed the file and is at its very end: a moment
# later it is known which. A lock of a file that was removed meanwhile locks nobody out, so it is taken again.
eg_lock() {
  command -v flock >/dev/null || return 76
  eg_n=$eg_naps eg_b=
  while [ "$eg_n" -gt 0 ]; do
    (umask 077; : >>"$eg_f") || return 73
    exec 9<>"$eg_f"
    if ! flock -n 9; then
      eg_b=$(cat "$eg_f")
      if [ -n "$eg_b" ]; then printf '%s\n' "$eg_b"; exec 9>&-; return 75; fi
    elif [ "$eg_f" -ef /proc/self/fd/9 ]; then
      eg_held=$eg_f
      printf '%s\n' "$eg_h" >"$eg_f"
      return 0
    fi
    exec 9>&-
    sleep "$eg_nap"
    eg_n=$((eg_n - 1))
  done
  return 75
}
eg_lock
