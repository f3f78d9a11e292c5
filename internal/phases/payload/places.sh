# went DIR REAL: files of ours in a directory were placed through links to where it really is
went() {
  awk -F'\t' -v d="$1/" -v r="$2" '$1=="via" && $3==r && index($2,d)==1 && !index(substr($2,length(d)+1),"/") {f=1} END {exit !f}' \
    /var/lib/eggo-node/record 2>/dev/null
}
fine=' '
# above DIR: it and those above it are closed, those too that hold a link on the way; else it says which one is not
above() {
  d=$1
  while [ "$d" != / ]; do
    case $fine in *" $d "*) break ;; esac # and so are those above
    if [ -e "$d" ] && [ ! -L "$d" ] && ! closed "$d"; then printf 'open %s\n' "$d"; return 1; fi
    d=${d%/*}
    d=${d:-/}
  done
  fine="$fine$1 "
}
place() { # DIR
  real=$(realpath -m "$1")
  if [ "$real" != "$1" ]; then
    went "$1" "$real" || { printf 'link %s\n' "$real"; return; }
    above "$1" || return 0
  fi
  above "$real" || return 0
  echo fine
}
shadowed() { # DIR NAME: another unit of that name
  for d in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    if [ "$(realpath -m "$d")" != "$(realpath -m "$1")" ] && { [ -e "$d/$2" ] || [ -L "$d/$2" ]; }; then printf 'unit %s\n' "$d/$2"; return; fi
  done
  echo fine
}
