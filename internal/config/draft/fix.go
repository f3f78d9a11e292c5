package draft

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Fix returns what can be done about a finding of preflight: the key of its label, and either a change of the draft or
// the step where it is fixed by hand. Without a label, there is no fix. Members are the machines of a running cluster,
// by MachineKey, which a change leaves as they are.
func Fix(d *config.Draft, members map[string]bool, x event.Finding) (word string, change func(), to string) {
	at := -1
	for i, m := range d.Machines {
		if m.Name == x.Host && x.Host != "" {
			at = i
		}
	}
	code, args := x.Fault.Code, x.Fault.Args
	switch {
	case code == "preflight.arch" && at >= 0:
		return "wizard.fix.arch", func() { d.Machines[at].Arch = args["is"] }, ""
	case code == "bundle.no-addon":
		return "wizard.fix.addon", func() {
			list := slices.DeleteFunc(strings.Split(d.Value("addons"), ","), func(s string) bool {
				return strings.TrimSpace(s) == args["addon"]
			})
			d.Set("addons", strings.TrimSpace(strings.Join(list, ",")))
		}, ""
	case strings.HasPrefix(code, "bundle.") || code == "preflight.os" || code == "preflight.no-bundle":
		return "wizard.fix.bundle", nil, "bundle"
	case x.Fault.Class == event.ClassAuth || strings.HasPrefix(code, "ssh."):
		return "wizard.fix.login", nil, "login"
	case code == "preflight.endpoint-single":
		return balance(d, members)
	case code == "preflight.endpoint-unknown" || code == "preflight.no-route":
		return "wizard.fix.networks", nil, "networks"
	case at >= 0:
		return "wizard.fix.nodes", nil, "nodes"
	}
	return "", nil, ""
}

// balance gives the load balancer to the first machine that only runs workloads. Without one, or in a cluster that runs
// already, a user adds it in the list of machines.
func balance(d *config.Draft, members map[string]bool) (word string, change func(), to string) {
	for i, m := range d.Machines {
		if members == nil && slices.Equal(m.Roles, []bundle.Role{bundle.Worker}) {
			return "wizard.fix.balancer", func() {
				d.Machines[i].Roles = append(slices.Clone(m.Roles), bundle.LoadBalancer)
				d.Set("apiserver-endpoint", "")
			}, ""
		}
	}
	return "wizard.fix.nodes", nil, "nodes"
}

// StepOf is the step that a key of a draft is set in.
func StepOf(key string) string {
	if slices.ContainsFunc(lists, func(k string) bool { return strings.HasPrefix(key, k) }) {
		return "nodes"
	}
	for _, s := range config.Settings() {
		if s.Wizard.Step != "" && (under(key, s.Key) || under(s.Key, key)) {
			return s.Wizard.Step
		}
	}
	return "extra"
}

// lists are the keys of what the step of the nodes edits.
var lists = []string{"machines", "masters", "nodes", "workers", "etcds", "loadbalance"}

// under says whether a key is another one or stands below it.
func under(key, above string) bool {
	return key == above || strings.HasPrefix(key, above+"[") || strings.HasPrefix(key, above+".")
}
