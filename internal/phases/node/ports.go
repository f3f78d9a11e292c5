package node

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// firewallLib opens and closes rules of a machine's own firewall. A rule is the words of its record, so that what was
// opened is closed by the same words:
//
//	firewalld runtime|permanent ZONE port|source VALUE    ufw [route] allow …
//	nft FAMILY TABLE CHAIN port|saddr|daddr VALUE         iptables|ip6tables CHAIN port|saddr|daddr VALUE
//
// Nothing is reloaded and nothing flushed. In nft and iptables a rule goes ahead of the chain's first unconditional
// refusal and otherwise to its end: what the owner of the machine refuses by name stays refused.
//
//go:embed firewall.sh
var firewallLib string

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
	script := "#!/bin/sh\n# Written by Eggo; removed by eggo-tui cleanup.\nset -u\n\n" + firewallLib
	for _, r := range rules {
		script += fmt.Sprintf("fw is %[1]s || fw add %[1]s\n", words(r))
	}
	return script
}
