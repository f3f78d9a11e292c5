package present

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// CommandLine is how this program was called: what its command lines say besides what is to be done.
type CommandLine struct {
	Program    string
	State      string // --state-dir as it was given
	Foreground string // the verb that was run with --foreground, "" if none was
}

// Printer words messages in a language, and the operations that they advise as command lines of this program.
func (w CommandLine) Printer(lang i18n.Lang) *i18n.Printer {
	p := i18n.NewPrinter(lang)
	p.Command = w.Words
	return p
}

// Words are an operation as a command line of this program that can be copied. One join takes machines that are
// alike, so several are joined one after another.
func (w CommandLine) Words(c event.Call) string {
	if len(c.Machines) > 0 {
		var all []string
		for _, one := range alike(c) {
			all = append(all, w.Words(one))
		}
		return strings.Join(all, " && ")
	}
	out := []string{w.Program, event.Clean(c.Verb)}
	add := func(words ...string) {
		for _, x := range words {
			out = append(out, shell.Quote(event.Clean(x)))
		}
	}
	flag := func(name, value string) {
		if value != "" {
			add("--"+name, value)
		}
	}
	set := func(name string, is bool) {
		if is {
			add("--" + name)
		}
	}
	if c.Snapshot != "" {
		add(c.Snapshot)
	}
	switch {
	case c.Cluster != "":
		add("--id", c.Cluster)
	case c.File != "":
		add("-f", c.File)
	}
	cleans := c.Verb == "cleanup"
	switch {
	case c.List != "":
		add("-f", c.List)
	case cleans:
		flag("node", strings.Join(c.Nodes, ","))
	default:
		joins(c, flag)
		add(c.Nodes...)
	}
	for _, b := range c.Bundles {
		flag("bundle", b)
	}
	if c.Drain != 0 {
		flag("drain-timeout", c.Drain.String())
	}
	set("purge", c.Purge && !cleans)
	set("force", c.Force)
	if c.Soak != nil {
		flag("soak", c.Soak.String())
	}
	flag("batch", c.Batch)
	flag("probe", c.Probe)
	flag("window", c.Window)
	set("packages", c.Packages)
	backups(c, flag)
	flag("from-eggo", c.EggoDir)
	flag("user", c.User)
	flag("key", c.Key)
	flag("password-from", c.PasswordFrom)
	flag("sudo-password-from", c.SudoFrom)
	flag("state-dir", w.State)
	flag("host-keys", c.HostKeys)
	flag("on-failure", c.OnFailure)
	set("foreground", w.Foreground != "" && w.Foreground == c.Verb)
	flag("signers", c.Signers)
	set("allow-unsigned", c.AllowUnsigned)
	hooks(c, flag)
	flag("limit", strings.Join(c.Limit, ","))
	set("purge", c.Purge && cleans)
	return strings.Join(out, " ")
}

// backups are the flags of a call's backup.
func backups(c event.Call, flag func(name, value string)) {
	flag("dir", c.Dir)
	flag("keep", c.Keep)
	flag("passphrase-from", c.Passphrase)
	for _, r := range c.Recipients {
		flag("recipient", r)
	}
}

// joins are the flags of a call's machines that join.
func joins(c event.Call, flag func(name, value string)) {
	flag("type", strings.Join(c.Roles, ","))
	flag("arch", c.Arch)
	flag("name", c.Name)
	if c.Port != 0 && c.Port != 22 {
		flag("port", strconv.Itoa(c.Port))
	}
	for _, l := range c.Labels {
		flag("label", l)
	}
	for _, t := range c.Taints {
		flag("taint", t)
	}
}

// hooks are the flags of a call's hooks.
func hooks(c event.Call, flag func(name, value string)) {
	before, after := phases.ClusterPreHook, phases.ClusterPostHook
	if c.OfNodes {
		before, after = phases.PreHook, phases.PostHook
	}
	for _, f := range c.Before {
		flag(before, f)
	}
	for _, f := range c.After {
		flag(after, f)
	}
}

// alike are the calls for the machines of a call that are like each other; one with a name is by itself.
func alike(c event.Call) []event.Call {
	var out []event.Call
	machines := c.Machines
	c.Machines = nil
	for _, m := range machines {
		i := slices.IndexFunc(out, func(o event.Call) bool {
			return m.Name == "" && o.Name == "" && m.Arch == o.Arch && m.Port == o.Port &&
				slices.Equal(m.Roles, o.Roles) && slices.Equal(m.Labels, o.Labels) && slices.Equal(m.Taints, o.Taints)
		})
		if i < 0 {
			one := c
			one.Name, one.Arch, one.Port, one.Roles, one.Nodes = m.Name, m.Arch, m.Port, m.Roles, nil
			one.Labels, one.Taints = m.Labels, m.Taints
			out = append(out, one)
			i = len(out) - 1
		}
		out[i].Nodes = append(out[i].Nodes, joining(m))
	}
	return out
}

// joining is a machine as join reads it: its address, and its login as lists of machines have it.
func joining(m event.CallMachine) string {
	out := m.Addr
	for _, word := range [][2]string{{"user", m.User}, {"key", m.Key}} {
		if word[1] != "" {
			out += " " + word[0] + "=" + listed(word[1])
		}
	}
	return out
}

// listed is a value as a list of machines reads it: in quotes where a blank or a separator would end it.
func listed(value string) string {
	if strings.ContainsAny(value, " \t,;|+{}") && !strings.Contains(value, `"`) {
		return `"` + value + `"`
	}
	return value
}
