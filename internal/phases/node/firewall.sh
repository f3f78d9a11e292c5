fw() {
  op=$1; shift
  case $1 in
  firewalld) fw_firewalld "$@" ;;
  ufw) shift; fw_ufw "$@" ;;
  nft) fw_nft "$@" ;;
  iptables|ip6tables) fw_iptables "$@" ;;
  *) return 2 ;;
  esac
}
fw_firewalld() {
  case $op in is) o=query ;; add) o=add ;; del) o=remove ;; esac
  c=firewall-cmd p=''
  [ "$2" = runtime ] || p=--permanent
  if ! firewall-cmd --state >/dev/null 2>&1; then # what ran is gone with it
    [ "$2" = permanent ] || return 0
    c=firewall-offline-cmd p=''
  fi
  command -v $c >/dev/null 2>&1 || return 0
  [ "$op" != del ] || $c $p --zone="$3" --query-"$4"="$5" >/dev/null 2>&1 || return 0
  $c $p --zone="$3" --"$o"-"$4"="$5" >/dev/null
}
fw_ufw() {
  command -v ufw >/dev/null 2>&1 || return 0
  case $op in
  is) ufw show added 2>/dev/null | sed 's/ comment .*//' | grep -qxF "ufw $*" ;;
  add) ufw "$@" comment eggo >/dev/null ;;
  del) fw_op=$op; op=is; fw_ufw "$@" || return 0; op=$fw_op
    if [ "$1" = route ]; then shift; ufw route delete "$@" >/dev/null; else ufw delete "$@" >/dev/null; fi ;;
  esac
}
fw_match() { # KIND VALUE as nft says it
  v6=ip; case $2 in *:*) v6=ip6 ;; esac
  case $1 in port) echo "${2#*/} dport ${2%/*}" ;; *) echo "$v6 $1 $2" ;; esac
}
fw_nft() {
  f=$2 t=$3 c=$4 what="$5 $6"
  command -v nft >/dev/null 2>&1 && l=$(nft -a list chain "$f" "$t" "$c" 2>/dev/null) || { [ "$op" = del ]; return; }
  ours=$(printf '%s\n' "$l" | grep -F "comment \"eggo $what\"" | sed 's/.*# handle //' || :)
  case $op in
  is) [ -n "$ours" ] ;;
  del) for h in $ours; do nft delete rule "$f" "$t" "$c" handle "$h"; done ;;
  add)
    at=$(printf '%s\n' "$l" | awk '/^\t\t(counter packets [0-9]+ bytes [0-9]+ |log [^#]*)*(drop|reject|goto)[^#]*# handle [0-9]+$/ {print $NF; exit}')
    if [ -n "$at" ]; then nft insert rule "$f" "$t" "$c" position "$at" $(fw_match "$5" "$6") accept comment "\"eggo $what\""
    else nft add rule "$f" "$t" "$c" $(fw_match "$5" "$6") accept comment "\"eggo $what\""; fi ;;
  esac
}
fw_iptables() {
  command -v "$1" >/dev/null 2>&1 || { [ "$op" = del ]; return; }
  ipt=$1 c=$2
  case $3 in port) set -- -p "${4#*/}" --dport "${4%/*}" ;; saddr) set -- -s "$4" ;; daddr) set -- -d "$4" ;; esac
  set -- "$@" -m comment --comment eggo -j ACCEPT
  case $op in
  is) $ipt -w -C "$c" "$@" 2>/dev/null ;;
  del) while $ipt -w -C "$c" "$@" 2>/dev/null; do $ipt -w -D "$c" "$@"; done ;;
  add)
    at=$($ipt -w -S "$c" | awk '$1=="-A" {n++} /^-A [^ ]+ (-j|-g) (DROP|REJECT)/ {print n; exit}')
    $ipt -w -I "$c" "${at:-$(($($ipt -w -S "$c" | grep -c '^-A' || :) + 1))}" "$@" ;;
  esac
}
# zonefile ZONE: firewalld writes a zone's own file, and a copy of it, when the zone is first changed for good; what it has written for us goes
# when there is nothing of anybody else's in it
zonefile() {
  f=/etc/firewalld/zones/$1.xml
  [ -e "$f" ] && [ -e "/usr/lib/firewalld/zones/$1.xml" ] || return 0
  plain() { tr -d ' \t\n\r' <"$1" | sed 's/^<?xml[^>]*?>//'; }
  [ "$(plain "$f")" != "$(plain "/usr/lib/firewalld/zones/$1.xml")" ] || rm -f "$f" "$f.old"
}
