package config

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Machine of a draft, as it was typed.
type Machine struct {
	Name  string        `json:"name"`
	IP    string        `json:"ip"`
	Port  string        `json:"port,omitempty"` // "" is 22
	Arch  string        `json:"arch,omitempty"` // "" is amd64
	Roles []bundle.Role `json:"roles"`
}

// Has reports whether the machine has the role.
func (m Machine) Has(r bundle.Role) bool { return slices.Contains(m.Roles, r) }

// Draft is a deploy.yaml that is being made: what was typed so far, valid or not. What can be read of it is a Spec,
// which is checked by the same rules as a file.
type Draft struct {
	Machines []Machine `json:"machines"`
	BindPort string    `json:"bind-port,omitempty"` // of the load balancer; "" is BalancerPort
	// KeepSecrets has passwords written into the file. Else they are asked for when they are needed.
	KeepSecrets bool `json:"keep-secrets,omitempty"`

	values map[string]string // texts by the key of their setting; none is empty
}

// savedDraft is a draft as it is saved.
type savedDraft struct {
	Machines    []Machine         `json:"machines"`
	BindPort    string            `json:"bind-port,omitempty"`
	Values      map[string]string `json:"values"`
	KeepSecrets bool              `json:"keep-secrets,omitempty"`
}

// MarshalJSON returns the draft as it is saved.
func (d Draft) MarshalJSON() ([]byte, error) {
	return json.Marshal(savedDraft{d.Machines, d.BindPort, d.values, d.KeepSecrets})
}

// UnmarshalJSON reads a saved draft.
func (d *Draft) UnmarshalJSON(data []byte) error {
	var in savedDraft
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*d = Draft{Machines: in.Machines, BindPort: in.BindPort, KeepSecrets: in.KeepSecrets}.WithValues(in.Values)
	return nil
}

// WithValues returns a copy with values beside those of the draft.
func (d Draft) WithValues(values map[string]string) Draft {
	d = d.Clone()
	for key, value := range values {
		d.Set(key, value)
	}
	return d
}

// Clone returns a copy that shares nothing.
func (d Draft) Clone() Draft {
	d.Machines = slices.Clone(d.Machines)
	for i := range d.Machines {
		d.Machines[i].Roles = slices.Clone(d.Machines[i].Roles)
	}
	if d.values = maps.Clone(d.values); d.values == nil {
		d.values = map[string]string{}
	}
	return d
}

// Equal reports whether both say the same.
func (d Draft) Equal(o Draft) bool {
	same := func(a, b Machine) bool {
		return a.Name == b.Name && a.IP == b.IP && a.Port == b.Port && a.Arch == b.Arch &&
			slices.Equal(a.Roles, b.Roles)
	}
	return d.BindPort == o.BindPort && d.KeepSecrets == o.KeepSecrets &&
		slices.EqualFunc(d.Machines, o.Machines, same) && maps.Equal(d.values, o.values)
}

// WithoutSecrets is the draft without its passwords.
func (d Draft) WithoutSecrets() Draft {
	d = d.Clone()
	for _, s := range Settings() {
		if s.Kind == Secret {
			d.Set(s.Key, "")
		}
	}
	return d
}

// Value returns what was entered for the key; "" if nothing was.
func (d Draft) Value(key string) string { return d.values[key] }

// Set enters a value for the key; "" removes what was entered.
func (d *Draft) Set(key, value string) {
	switch {
	case value == "":
		delete(d.values, key)
	case d.values == nil:
		d.values = map[string]string{key: value}
	default:
		d.values[key] = value
	}
}

// Blank reports whether the draft has neither machines nor values, apart from the cluster's name.
func (d Draft) Blank() bool { return len(d.Machines) == 0 && d.Count() <= 1 }

// Count returns the number of keys with a value.
func (d Draft) Count() int { return len(d.values) }

// Get returns what was entered for the key, or its default.
func (d Draft) Get(key string) string {
	if v := d.Value(key); v != "" {
		return v
	}
	s, _ := SettingOf(key)
	return s.Default
}

// With are the machines with the role, by their places in Machines.
func (d Draft) With(r bundle.Role) []int {
	var out []int
	for i, m := range d.Machines {
		if m.Has(r) {
			out = append(out, i)
		}
	}
	return out
}

func machineKey(i int) string { return itemKey("machines", i) }

// entryKey is the key of an entry of a list of machines.
var entryKey = regexp.MustCompile(`\A(?:(masters|nodes|etcds)\[([0-9]+)\]|(loadbalance))(.*)\z`)

// Spec returns what the draft says, with its passwords, whether they are to be kept or not. The problems name
// what cannot be read.
func (d Draft) Spec() (s Spec, problems Problems) {
	for _, x := range secretSources() { // a secret that was typed is not asked for
		if d.Value(x.secret) != "" && d.Value(x.from) == "prompt" {
			d = d.Clone()
			d.Set(x.from, "")
		}
	}
	for _, one := range Settings() {
		if v := d.Value(one.Key); v != "" {
			problems = append(problems, s.Set(one.Key, v)...)
		}
	}
	return s, append(problems, s.SetMachines(d.Machines, d.BindPort)...)
}

// Check checks what the draft says. The keys of the problems are those of the draft: the setting's, or machines[2].ip.
// The cluster is nil when one of them is an error.
func (d Draft) Check(file string) (*Cluster, Problems) {
	s, broken := d.Spec()
	c, problems := s.Cluster(file)
	problems = problems.OfMachines(d.Machines)
	if len(broken) == 0 {
		return c, problems
	}
	for i := range broken {
		broken[i].File = file
	}
	return nil, broken.With(problems)
}

// Cluster is Check with the paths of the jump host made absolute, as LoadFile does; file is where the draft is to be
// written.
func (d Draft) Cluster(file string) (*Cluster, Problems, error) {
	c, problems := d.Check(file)
	if c == nil {
		return nil, problems, nil
	}
	if err := c.resolvePaths(file); err != nil {
		return nil, problems, fileFault(file, "config.home", err)
	}
	return c, problems, nil
}
