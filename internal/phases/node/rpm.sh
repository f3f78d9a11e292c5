export LC_ALL=C
# rpmlock: waits until no other program has rpm's database to itself; up to eight minutes, saying for whom. rpm itself would wait for ever.
rpmlock() {
  l=$(rpm --eval '%{_dbpath}')/.rpm.lock n=0
  while [ -e "$l" ]; do
    p=$(awk -v i=":$(stat -c %i "$l")" '$2=="POSIX" && $4=="WRITE" && substr($6, length($6)-length(i)+1)==i {print $5; exit}' /proc/locks)
    [ -n "$p" ] || return 0
    who="$(cat "/proc/$p/comm" 2>/dev/null || echo a program), process $p"
    n=$((n + 1)); [ $n -le 240 ] || fail packages.locked "$who"
    [ $((n % 15)) -ne 1 ] || printf "waiting for %s, which works on rpm's database\n" "$who"
    sleep 2
  done
}
# rpmhas PACKAGE...: those that are there, each once, as NAME.ARCH
rpmhas() { for p in "$@"; do rpm -q --qf '%{NAME}.%{ARCH}\n' "$p" 2>/dev/null | grep -v ' ' || :; done | sort -u; }
# rpmgone PACKAGE...: takes away those that are there. One that something else has come to need is kept, with what it needs, and said.
rpmgone() {
  have=$(rpmhas "$@")
  [ -n "$have" ] || return 0
  # shellcheck disable=SC2086 # several packages
  rpm -e --allmatches $have && return 0
  more=yes
  while [ -n "$more" ]; do
    more=
    for p in $have; do if rpm -q --quiet "$p" && rpm -e --allmatches "$p" >/dev/null 2>&1; then more=yes; fi; done
  done
  # shellcheck disable=SC2086 # several packages
  for p in $(rpmhas $have); do keep "package $p"; done
}
# fixrpm: a transaction of ours that was interrupted is reverted: a package whose files came but not its scripts counts as installed
fixrpm() {
  rpmlock
  case $(rpm -qa 2>&1 >/dev/null || echo error:) in *error:*) rpm --rebuilddb ;; esac
  [ -s "$D/dnf/begun" ] || { rm -f "$D/dnf/begun"; return 0; }
  rpmgone $(cat "$D/dnf/begun")
  for f in "$D"/repo/*.rpm; do
    [ -e "$f" ] || continue
    rpm -q --quiet "$(rpm -qp --nosignature --qf '%{NAME}.%{ARCH}' "$f" 2>/dev/null)" || scourrpm "$f"
  done
  rm -f "$D/dnf/begun"
}
# scourrpm FILE: of a package that was cut off rpm knows nothing yet. Its files that no package owns, its temporary files, and its
# directories that are empty go if they were born after we came; where the file system knows no births they stay.
scourrpm() {
  rpm -qp --nosignature --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$1" 2>/dev/null | sort -r -k 2 | while read -r m p; do
    for x in "$p;"*; do if { [ -e "$x" ] || [ -L "$x" ]; } && newer "$x"; then rm -f "$x"; fi; done
    [ -e "$p" ] || [ -L "$p" ] || continue
    if ! newer "$p" || rpm -qf "$p" >/dev/null 2>&1; then continue; fi
    case $m in
    d*) if [ -d "$p" ] && [ ! -L "$p" ] && [ -z "$(ls -A "$p")" ]; then rmdir "$p"; fi ;;
    *) rm -f "$p" ;;
    esac
  done || :
}
keep() { printf 'kept %s\n' "$1"; }
