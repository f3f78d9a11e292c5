package event

import (
	"strings"
	"time"
)

// RunOptions are those of a run that whoever continues it takes over.
type RunOptions struct {
	Limit     []string `json:"limit,omitempty"`
	OnFailure string   `json:"on_failure,omitempty"`
	Signers   string   `json:"signers,omitempty"` // a file, absolute
	// the cluster's hooks: absolute paths, with ",ROLE" where one was given
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	// Upgrade are those of an upgrade; nil of all other runs.
	Upgrade *UpgradeOptions `json:"upgrade,omitempty"`
}

// UpgradeOptions are those of an upgrade alone. A program without upgrades has no flags for them.
type UpgradeOptions struct {
	Bundles  []string      `json:"bundles,omitempty"` // files, absolute
	Drain    time.Duration `json:"drain_ns,omitempty"`
	Soak     time.Duration `json:"soak_ns,omitempty"`
	Batch    string        `json:"batch,omitempty"`
	Probe    string        `json:"probe,omitempty"`
	Window   string        `json:"window,omitempty"`
	Packages bool          `json:"packages,omitempty"`
}

// Flags are the options as words of a command line, a flag and its value each: --limit a,b --on-failure skip.
func (o *RunOptions) Flags() []string {
	var out []string
	add := func(flag, value string) {
		if value != "" {
			out = append(out, flag, value)
		}
	}
	add("--limit", strings.Join(o.Limit, ","))
	add("--on-failure", o.OnFailure)
	add("--signers", o.Signers)
	for _, h := range o.Before {
		add("--cluster-prehook", h)
	}
	for _, h := range o.After {
		add("--cluster-posthook", h)
	}
	return out
}

// optionsOf reads the flags of a log whose program wrote no options. A flag that is not known is passed over.
func optionsOf(flags []string) *RunOptions {
	var o RunOptions
	for i := 0; i+1 < len(flags); i += 2 {
		switch value := flags[i+1]; flags[i] {
		case "--limit":
			o.Limit = strings.Split(value, ",")
		case "--on-failure":
			o.OnFailure = value
		case "--signers":
			o.Signers = value
		case "--cluster-prehook":
			o.Before = append(o.Before, value)
		case "--cluster-posthook":
			o.After = append(o.After, value)
		}
	}
	return &o
}

// Call is an operation that a message advises: which verb, on what, with which options. Each front end says it in its
// own way, a command line or a button.
type Call struct {
	Verb    string `json:"verb"`
	Cluster string `json:"cluster,omitempty"`
	File    string `json:"file,omitempty"` // the deploy.yaml, where it is not the cluster's own

	Nodes []string `json:"nodes,omitempty"` // names or addresses
	List  string   `json:"list,omitempty"`  // join: the file that names the machines
	Roles []string `json:"roles,omitempty"` // join: roles of the machines, as deploy.yaml calls them
	Arch  string   `json:"arch,omitempty"`
	Name  string   `json:"name,omitempty"`
	Port  int      `json:"port,omitempty"`
	// Labels and Taints are those of the machines that join, as they are typed.
	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"`
	// Machines are those that join, each with what is its own, where they are not alike or have logins of their own.
	Machines []CallMachine `json:"machines,omitempty"`

	Snapshot string        `json:"snapshot,omitempty"`
	Drain    time.Duration `json:"drain_ns,omitempty"`
	Purge    bool          `json:"purge,omitempty"`
	Force    bool          `json:"force,omitempty"`

	Bundles  []string       `json:"bundles,omitempty"` // upgrade: files
	Soak     *time.Duration `json:"soak_ns,omitempty"` // nil: as long as usual
	Batch    string         `json:"batch,omitempty"`
	Probe    string         `json:"probe,omitempty"`
	Window   string         `json:"window,omitempty"`
	Packages bool           `json:"packages,omitempty"`

	// Of a backup.
	Dir        string   `json:"dir,omitempty"`
	Keep       string   `json:"keep,omitempty"`
	Passphrase string   `json:"passphrase_from,omitempty"` // where it is
	Recipients []string `json:"recipients,omitempty"`

	// Of an import.
	EggoDir string `json:"eggo_dir,omitempty"`
	User    string `json:"user,omitempty"`
	Key     string `json:"key,omitempty"`
	// PasswordFrom and SudoFrom say where the secrets are.
	PasswordFrom string `json:"password_from,omitempty"`
	SudoFrom     string `json:"sudo_password_from,omitempty"`

	Limit         []string `json:"limit,omitempty"`
	HostKeys      string   `json:"host_keys,omitempty"`
	OnFailure     string   `json:"on_failure,omitempty"`
	Signers       string   `json:"signers,omitempty"`
	AllowUnsigned bool     `json:"allow_unsigned,omitempty"`
	OfNodes       bool     `json:"of_nodes,omitempty"` // the hooks are those of the nodes that join or leave
	Before        []string `json:"before,omitempty"`
	After         []string `json:"after,omitempty"`
}

// CallMachine is a machine that joins.
type CallMachine struct {
	Addr  string   `json:"address"`
	Name  string   `json:"name,omitempty"`
	Roles []string `json:"roles,omitempty"`
	Arch  string   `json:"arch,omitempty"`
	Port  int      `json:"port,omitempty"`
	User  string   `json:"user,omitempty"` // of a login of its own
	Key   string   `json:"key,omitempty"`  // a private key's file

	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"`
}

// Calling makes a Msg whose sentence has the hole {command} for the operation that it advises.
func Calling(key string, c Call, kv ...string) Msg {
	m := M(key, kv...)
	m.Call = &c
	return m
}

func boundCall(c *Call) *Call {
	if c == nil {
		return nil
	}
	out := *c
	names(&out.Verb, &out.Cluster, &out.Arch, &out.Name, &out.HostKeys, &out.OnFailure)
	for _, s := range []*string{
		&out.File, &out.List, &out.Snapshot, &out.EggoDir, &out.User, &out.Key, &out.PasswordFrom, &out.SudoFrom,
		&out.Signers, &out.Batch, &out.Probe, &out.Window,
		&out.Dir, &out.Keep, &out.Passphrase,
	} {
		*s = Clip(*s, MaxArg)
	}
	for _, list := range []*[]string{&out.Nodes, &out.Roles, &out.Bundles, &out.Limit, &out.Before, &out.After,
		&out.Labels, &out.Taints, &out.Recipients} {
		*list = boundList(*list, MaxArg)
	}
	if c.Machines != nil {
		out.Machines = make([]CallMachine, len(c.Machines))
	}
	for i, m := range c.Machines {
		names(&m.Addr, &m.Name, &m.Arch, &m.User)
		m.Key = Clip(m.Key, MaxArg)
		m.Roles = boundList(m.Roles, MaxName)
		m.Labels, m.Taints = boundList(m.Labels, MaxName), boundList(m.Taints, MaxName)
		out.Machines[i] = m
	}
	return &out
}

func boundList(list []string, most int) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Clip(s, most)
	}
	return out
}
