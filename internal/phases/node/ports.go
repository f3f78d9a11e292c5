package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// firewallLib opens and closes rules of a machine's own firewall. A rule is the words of its record, so that what was
// opened is closed by the same words:
//
//	firewalld runtime|permanent ZONE port|source VALUE    ufw [route] allow …
//	nft FAMILY TABLE CHAIN port|saddr|daddr VALUE         iptables|ip6tables CHAIN port|saddr|daddr VALUE
//
// Nothing is reloaded and nothing flushed. In nft and iptables a rule goes ahead of the chain's first unconditional
// refusal and otherwise to its end: what the owner of the machine refuses by name stays refused.
const firewallLib = `
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
  [ $op != del ] || $c $p --zone="$3" --query-$4="$5" >/dev/null 2>&1 || return 0
  $c $p --zone="$3" --$o-$4="$5" >/dev/null
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
  command -v nft >/dev/null 2>&1 && l=$(nft -a list chain "$f" "$t" "$c" 2>/dev/null) || { [ $op = del ]; return; }
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
  command -v "$1" >/dev/null 2>&1 || { [ $op = del ]; return; }
  ipt=$1 c=$2
  case $3 in port) m="-p ${4#*/} --dport ${4%/*}" ;; saddr) m="-s $4" ;; daddr) m="-d $4" ;; esac
  m="$m -m comment --comment eggo -j ACCEPT"
  case $op in
  is) $ipt -w -C "$c" $m 2>/dev/null ;;
  del) while $ipt -w -C "$c" $m 2>/dev/null; do $ipt -w -D "$c" $m; done ;;
  add)
    at=$($ipt -w -S "$c" | awk '$1=="-A" {n++} /^-A [^ ]+ (-j|-g) (DROP|REJECT)/ {print n; exit}')
    $ipt -w -I "$c" ${at:-$(($($ipt -w -S "$c" | grep -c '^-A' || :) + 1))} $m ;;
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
`

// words makes shell words of the words of a rule.
func words(rule string) string {
	var out []string
	for w := range strings.FieldsSeq(rule) {
		out = append(out, shell.Quote(w))
	}
	return strings.Join(out, " ")
}

// Closed lists those of the rules that are not in force.
func (n *Node) Closed(ctx context.Context, rules []string) ([]string, error) {
	script := firewallLib
	for _, r := range rules {
		script += fmt.Sprintf("fw is %s </dev/null >/dev/null 2>&1 || printf '%%s\\n' %s\n", words(r), shell.Quote(r))
	}
	out, err := n.Query(ctx, script)
	var closed []string
	for line := range strings.Lines(out) {
		closed = append(closed, strings.TrimSuffix(line, "\n"))
	}
	return closed, err
}

// Open brings rules of the machine's firewall into force, each recorded before.
func (n *Node) Open(ctx context.Context, desc event.Msg, rules []string) error {
	script := firewallLib
	for _, r := range rules {
		if w := strings.Fields(r); w[0] == "firewalld" && w[1] == "permanent" {
			zone := shell.Quote(w[2])
			script += fmt.Sprintf("[ -e /etc/firewalld/zones/%[1]s.xml ] || rec zonefile %[1]s absent\n", zone)
		}
		script += fmt.Sprintf("fw is %[1]s || { rec port %[2]s closed; fw add %[1]s; }\n", words(r), shell.Quote(r))
	}
	_, err := n.Change(ctx, Change{Desc: desc, Script: script})
	return err
}

// Close takes rules of ours out of force again, and out of the record.
func (n *Node) Close(ctx context.Context, desc event.Msg, rules []string) error {
	script := firewallLib
	for _, r := range rules {
		script += fmt.Sprintf("fw del %s\nunrec port %s\n", words(r), shell.Quote(r))
	}
	_, err := n.Change(ctx, Change{Desc: desc, Script: script})
	return err
}

// FirewallAtBoot is a script that brings rules into force that a firewall forgets when the machine goes down.
func FirewallAtBoot(rules []string) string {
	script := "#!/bin/sh\n# Written by Eggo; removed by eggo-tui cleanup.\nset -u\n" + firewallLib
	for _, r := range rules {
		script += fmt.Sprintf("fw is %[1]s || fw add %[1]s\n", words(r))
	}
	return script
}
