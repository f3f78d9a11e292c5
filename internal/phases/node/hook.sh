hookrun() { # DIR FILE SECONDS
  d=$1 f=$2 secs=$3
  rm -f "$d/status" "$d/cut"
  : >"$d/began"
  case $(head -c 2 "$f") in
  '#!') set -- "$f" ;;
  *) case $f in *.bash) set -- bash "$f" ;; *) set -- sh "$f" ;; esac ;;
  esac
  cd /
  {
    timeout -k 5 "$secs" "$@" </dev/null 2>&1 &
    t=$!
    trap 'kill $t 2>/dev/null || :' TERM HUP INT
    s=0
    wait $t || s=$?
    echo $s >"$d/status.new"
    mv -f "$d/status.new" "$d/status"
  } | timeout $((secs + 10)) sh -c 'dd bs=4096 count=65536 iflag=count_bytes 2>/dev/null; n=$(wc -c); [ "$n" -eq 0 ] || echo "$n" >"$0/cut"' "$d" || :
}
