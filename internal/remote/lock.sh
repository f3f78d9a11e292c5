eg_lock() {
  command -v flock >/dev/null || return 76
  for eg_t in 1 2 3; do
    (umask 077; : >>"$eg_f") || return 73
    exec 9<>"$eg_f"
    if ! flock -n 9; then cat "$eg_f"; exec 9>&-; return 75; fi
    if [ "$eg_f" -ef /proc/self/fd/9 ]; then
      eg_held=$eg_f
      printf '%s\n' "$eg_h" >"$eg_f"
      return 0
    fi
    exec 9>&-
  done
  return 75
}
eg_lock
