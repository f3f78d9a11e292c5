package wizard

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// What the wizard shares with a front end that has no screen.

// Unread is a line that is no machine, and why.
type Unread struct {
	Text string
	Why  event.Msg
}

// ReadMachines is the reading of lines of machines; bad are the lines that are none.
func ReadMachines(text string) (list []config.Machine, bad []Unread) {
	list, unread := readMachines(text)
	for _, u := range unread {
		bad = append(bad, Unread{u.text, u.why})
	}
	return list, bad
}

// AddMachines gives the draft machines, and what was not said of them; those that are fixed stay as they are. same are the addresses of which
// nothing new was said.
func AddMachines(d *config.Draft, list []config.Machine, fixed map[string]bool) (fresh, changed int, same []string) {
	x := add(d, list, fixed)
	return x.fresh, x.changed, x.same
}

// RoleOf is the role that a word means.
func RoleOf(word string) (bundle.Role, bool) { return roleOf(word) }

// LoginText is all that a look at a machine depends on beside the machine.
func LoginText(d config.Draft) string { return loginText(d) }

// Mend is what can be done about a finding of preflight: the word for it, and either a change of the draft or the step where it is mended by
// hand. "" is that nobody here knows.
func Mend(d *config.Draft, x event.Finding) (word string, change func(), to string) {
	at := -1
	for i, m := range d.Machines {
		if m.Name == x.Host && x.Host != "" {
			at = i
		}
	}
	code, args := x.Fault.Code, x.Fault.Args
	switch {
	case code == "preflight.arch" && at >= 0:
		return "wizard.mend.arch", func() { d.Machines[at].Arch = args["is"] }, ""
	case code == "bundle.no-addon":
		return "wizard.mend.addon", func() {
			list := slices.DeleteFunc(strings.Split(d.Values["addons"], ","), func(s string) bool { return strings.TrimSpace(s) == args["addon"] })
			d.Values["addons"] = strings.TrimSpace(strings.Join(list, ","))
		}, ""
	case strings.HasPrefix(code, "bundle.") || code == "preflight.os" || code == "preflight.no-bundle":
		return "wizard.mend.bundle", nil, "bundle"
	case x.Fault.Class == event.ClassAuth || strings.HasPrefix(code, "ssh."):
		return "wizard.mend.login", nil, "login"
	case code == "preflight.endpoint-unknown" || code == "preflight.no-route":
		return "wizard.mend.networks", nil, "networks"
	case at >= 0:
		return "wizard.mend.nodes", nil, "nodes"
	}
	return "", nil, ""
}

// StepOf is the step that a key of a draft is set in.
func StepOf(key string) string {
	for _, s := range []struct {
		id   string
		keys []string
	}{
		{"cluster", []string{"cluster-id"}}, {"login", []string{"username", "password", "private-key-path", "eggo.sudo-password", "eggo.bastion"}},
		{"nodes", []string{"machines", "masters", "nodes", "workers", "etcds", "loadbalance"}}, {"networks", []string{"network", "service.cidr", "service.dnsaddr", "dns-domain", "apiserver"}},
		{"runtime", []string{"runtime", "service.dns", "addons", "registry-mirrors", "insecure-registries"}}, {"bundle", []string{"package-src", "eggo.bundles"}},
	} {
		for _, k := range s.keys {
			if strings.HasPrefix(key, k) {
				return s.id
			}
		}
	}
	return "extra"
}

// Masked is the text of a deploy.yaml without its passwords.
func Masked(text []byte) string { return masked(text) }

// Diff are the lines that two deploy.yaml do not share, with - for the first and + for the second; passwords are masked.
func Diff(a, b []byte) []string {
	split := func(text []byte) []string { return strings.Split(strings.TrimRight(masked(text), "\n"), "\n") }
	var out []string
	for _, d := range lineDiff(split(a), split(b)) {
		if d.kind != ' ' {
			out = append(out, string(d.kind)+" "+event.Clean(d.text))
		}
	}
	return out
}
