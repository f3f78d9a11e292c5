# shellcheck disable=SC3044 # dirs is a function of this file
set -eu
umask 022
D=/var/lib/eggo-node
R=$D/record
T=$(printf '\t')
fail() { printf 'eggo-fault %s %s\n' "$1" "$2" >&2; exit 90; }
home() { [ -d $D ] || mkdir -m 700 $D; [ -e $R ] || (umask 077; : >$R); }
has() { [ -e $R ] && awk -F'\t' -v k="$1" -v p="$2" '$1==k && $2==p {f=1} END {exit !f}' $R; }
# whole: a last line of the record that a full disk or a loss of power tore is ended, once in a script: what comes after is ours
ended=''
whole() {
  [ -z "$ended" ] || return 0
  if [ ! -s $R ]; then printf 'format\t1\t-\n' >$R; elif [ -n "$(tail -c1 $R)" ]; then echo >>$R; fi
  ended=1
}
# rec KIND KEY WAS
rec() { has "$1" "$2" || { home; whole; printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>$R; sync $R 2>/dev/null || sync; }; }
# recorded: there is more in the record than its format
recorded() { [ -e $R ] && awk -F'\t' 'NF && $1!="format" {f=1} END {exit !f}' $R; }
# unrec KIND KEY: what was taken back before its time is no longer recorded
unrec() { [ ! -e $R ] || { awk -F'\t' -v k="$1" -v p="$2" '!($1==k && $2==p)' $R >$R.new; mv -f $R.new $R; }; }
# dirs PATH: makes a directory and its parents, recording the ones that were not there
dirs() {
  [ -d "${1:-/}" ] && return 0
  # shellcheck disable=SC2174 # what is between is below $D, which is closed
  case $1 in "$D"|"$D"/*) home; mkdir -p -m 700 "$1"; return;; esac
  dirs "${1%/*}"
  rec dir "$1" absent
  mkdir -m 755 "$1"
}
# tree PATH MODE WHEN: a directory whose whole content is ours; WHEN is cleanup or purge: when its content goes
# shellcheck disable=SC2010 # one name, whatever else there is
tree() {
  if [ ! -e "$1" ]; then dirs "${1%/*}"; rec tree "$1" "$3"; mkdir -m "$2" "$1"
  elif has tree "$1"; then chmod "$2" "$1"
  elif has dir "$1"; then rec tree "$1" "$3"; chmod "$2" "$1"
  elif [ -z "$(ls -A "$1" | grep -vx lost+found)" ]; then rec emptied "$1" "$3"; fi
}
# own PATH: refuses a file that somebody else made and records ours
own() {
  if [ -e "$1" ] || [ -L "$1" ]; then has file "$1" || fail node.file-exists "$1"
  else dirs "${1%/*}"; via "$1"; rec file "$1" absent; fi
}
# aside PATH: on a node that was imported, a file that another installer has made is kept before ours takes its place. A cleanup, and who
# removes ours, puts it back.
aside() {
  [ -e "$1" ] || [ -L "$1" ] || return 0
  ! has file "$1" || return 0
  [ ! -d "$1" ] || [ -L "$1" ] || fail node.file-exists "$1"
  f=$D/former$1
  dirs "${f%/*}"
  cp -a "$1" "$f.eggo-new"
  mv -fT "$f.eggo-new" "$f"
  sync "$f" 2>/dev/null || sync
  via "$1"
  rec former "$1" -
  rec file "$1" former
}
# truth DIR: sets r to where a directory is in truth
truth() {
  r=$1
  while [ "$r" != "${r%/*}" ]; do # a damaged record may name what has no slash
    if [ -L "$r" ]; then r=$(realpath -m "$1"); return 0; fi
    r=${r%/*}
  done
  r=${1:-/}
}
# via PATH: records where a file's directory is in truth, when links lead there
via() { d=${1%/*}; truth "$d"; [ "$r" = "${d:-/}" ] || rec via "$1" "$r"; }
# unfile PATH: removes a file of ours; not when links have come to lead its path to somewhere else
unfile() {
  d=${1%/*}
  w=$(awk -F'\t' -v p="$1" '$1=="via" && $2==p {print $3; exit}' $R)
  truth "${d:=/}"
  if [ "$r" = "${w:-$d}" ]; then
    rm -f "$1" "$1.eggo-new" "$1.eggo-part"
    if [ -e "$D/former$1" ] || [ -L "$D/former$1" ]; then cp -a "$D/former$1" "$1"; fi
  else keep "$1"; fi
}
# put PATH MODE SIZE: a file of ours, content from stdin, in place at once or not at all
put() {
  own "$1"
  umask 077
  head -c "$3" >"$1.eggo-new"
  umask 022
  [ "$(wc -c <"$1.eggo-new")" -eq "$3" ] || fail node.short-write "$1"
  chmod "$2" "$1.eggo-new"
  sync "$1.eggo-new" 2>/dev/null || sync
  mv -f "$1.eggo-new" "$1"
}
# tables: which of iptables' tables are not there before kube-proxy and the kubelet make them; a purge takes those away again
tables() {
  has unit kubelet.service || has unit kube-proxy.service && return 0
  for v in iptables ip6tables; do
    f=ip; [ $v = iptables ] || f=ip6
    s=$($v-save 2>/dev/null || true)
    for t in raw mangle nat filter security; do case "$s" in *"*$t"*) ;; *) rec table "$f $t" purge ;; esac; done
  done
}
# block PATH: the lines between our marks become what comes on stdin, at the end of the file; nothing on stdin takes them out. The file
# is replaced at once; one that is a mount of its own can only be written over.
block() {
  awk '/^# eggo begin$/ {b++} /^# eggo end$/ {e++} END {exit b+0 != e+0}' "$1" || fail node.torn-block "$1"
  cp -p "$1" "$1.eggo-new"
  { awk '/^# eggo begin$/ {s=1} !s {print} /^# eggo end$/ {s=0}' "$1"; cat; } >"$1.eggo-new"
  sync "$1.eggo-new" 2>/dev/null || sync
  mv -f "$1.eggo-new" "$1" 2>/dev/null || { cat "$1.eggo-new" >"$1"; rm -f "$1.eggo-new"; }
}
# mounted PATH: something is mounted at it or below it, so that removing it would reach into somebody's data
mounted() { awk -v p="$1" '$2==p || index($2, p "/")==1 {f=1} END {exit !f}' /proc/mounts; }
# dpkgw ARGS: dpkg, which unlike apt does not wait for another package manager to end; up to eight minutes, saying for whom
dpkgw() {
  n=0
  until e=$(dpkg "$@" 2>&1); do
    case $e in *"locked by another process"*) ;; *) printf '%s\n' "$e" >&2; return 1 ;; esac
    n=$((n + 1)); [ $n -le 240 ] || { printf '%s\n' "$e" >&2; return 1; }
    [ $((n % 15)) -ne 1 ] || printf '%s\n' "$e" | head -n 1
    sleep 2
  done
  [ -z "$e" ] || printf '%s\n' "$e"
}
# held QUERY...: what QUERY says of the programs that a running firewalld has taken into use since they came. It remembers that they are
# there: without them it fails when it is told to reload its rules, half way, and lets nobody in any more.
held() {
  systemctl is-active --quiet firewalld 2>/dev/null || return 0
  for t in iptables-restore ip6tables-restore ebtables ebtables-restore ipset; do
    p=$(command -v $t) || continue
    "$@" "$(readlink -f "$p")" 2>/dev/null || :
  done | sort -u
}
# fixdpkg: a package of ours whose unpacking was interrupted is removed, for neither dpkg nor apt continues it; one that an
# upgrade was moving keeps its configuration and data
fixdpkg() {
  dpkgw --set-selections </dev/null || : # what was cut off stands in dpkg's journal, which only a dpkg that writes takes over
  for p in $(awk -F'\t' '$1=="package" {print $2}' $R); do
    case $(dpkg-query -W -f '${db:Status-Eflag} ${db:Status-Status}' "$p" 2>/dev/null || :) in
    reinstreq*|*half-installed)
      if has residue "$p" || grep -qs "^$p " $D/kept/moves; then dpkgw --force-remove-reinstreq --remove "$p"; else dpkgw --force-remove-reinstreq --purge "$p"; fi
      scour "$p" ;;
    esac
  done
}
# scour PACKAGE: of a package that was cut off dpkg does not know yet what it had made. Its files that no package owns, and its directories
# that are empty, go if they were born after we came; where the file system knows no births they stay.
newer() { [ "$(stat -c %W "$1" 2>/dev/null || echo 0)" -ge "$(stat -c %Y $D/node)" ]; }
scour() {
  for f in "$D"/repo/"$1"_*.deb; do
    [ -e "$f" ] || continue
    dpkg-deb --fsys-tarfile "$f" 2>/dev/null | tar -t 2>/dev/null | sed 's,^\.,,' | sort -r | while IFS= read -r p; do
      case $p in
      /) ;;
      */) p=${p%/}; if [ -d "$p" ] && [ ! -L "$p" ] && newer "$p" && [ -z "$(ls -A "$p")" ]; then rmdir "$p"; fi ;;
      *)
        for x in "$p.dpkg-new" "$p.dpkg-tmp"; do if newer "$x"; then rm -f "$x"; fi; done
        if newer "$p" && ! dpkg-query -S "$p" >/dev/null 2>&1; then rm -f "$p"; fi ;;
      esac
    done || :
  done
}
stamp() { home; mkdir -p $D/applied; printf '%s\n' "$2" >$D/applied/"$1".new; mv -f $D/applied/"$1".new $D/applied/"$1"; }
# written NAME PATH...: the sums of the files that what has this stamp was started with, below the stamp; edited.sh reads them
written() {
  w=$D/applied/$1
  shift
  { cat "$w"; sha256sum "$@"; } >"$w.new"
  mv -f "$w.new" "$w.files"
}
