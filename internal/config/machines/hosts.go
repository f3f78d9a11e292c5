package machines

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// hostsWords are the words behind an address of a line of /etc/hosts; ok is false for another line.
func hostsWords(raw string) (address string, names []string, ok bool) {
	text, _, _ := strings.Cut(narrow(raw), "#")
	list := strings.Fields(text)
	if len(list) < 2 || !isAddress(list[0]) || strings.ContainsAny(list[0], "@[") {
		return "", nil, false
	}
	return list[0], list[1:], true
}

// isHosts reports whether a text is a hosts file: lines of addresses with names, and one of this machine.
func isHosts(lines []string) bool {
	local := false
	for _, raw := range lines {
		text := narrow(raw)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		address, names, ok := hostsWords(text)
		if !ok {
			return false
		}
		local = local || (isLoopback(address) || isGroup(address)) && slices.ContainsFunc(names, isLocalName)
	}
	return local
}

// isLocalName reports whether a name is one that hosts files have for the machine itself and for groups.
func isLocalName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "localhost") || strings.HasPrefix(name, "ip6-") || name == "broadcasthost"
}

// readHosts reads /etc/hosts: of the names of an address, the short one is the machine's. One that is a role is that
// role, too.
func readHosts(lines []string) List {
	out := List{Format: Hosts}
	had := map[string]bool{}
	for i, raw := range lines {
		address, names, ok := hostsWords(raw)
		switch {
		case !ok || had[address]:
			continue
		case isLoopback(address) || isGroup(address):
			out.Skipped = append(out.Skipped, Rejected{Line: i + 1, Text: address,
				Why: event.M("machines.no-machine", "ip", address)})
			continue
		}
		had[address] = true
		name := names[0]
		if short := slices.IndexFunc(names, func(n string) bool { return !strings.Contains(n, ".") }); short >= 0 {
			name = names[short]
		}
		l := &line{at: i + 1}
		l.set("host", address, address)
		l.set("name", name, name)
		if role, is := RoleOf(name); is {
			l.e.Roles = with(l.e.Roles, role)
		}
		out.add(l)
	}
	return out
}
