package guide

import (
	"cmp"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
)

// Session is one walk through the wizard: the draft that is edited and what is known about it.
type Session struct {
	Draft   config.Draft
	File    string // path of deploy.yaml, if the user entered one
	History draft.History

	// Usual returns the path of deploy.yaml for a cluster if the user enters none; nil: deploy.yaml.
	Usual func(cluster string) string
	// OwnKeys are the user's private keys, of which the first is the default.
	OwnKeys []string
	// Cluster is the result of the draft, as of the last check; nil while the draft has errors.
	Cluster *config.Cluster
	// Members are the machines of the running cluster that others join, by draft.MachineKey; nil for a new cluster.
	Members map[string]bool

	textOf config.Draft // whose text is what Fingerprint returns
	text   string
}

// New returns a session with an empty draft.
func New() *Session {
	s := &Session{Draft: config.Draft{}.Clone()}
	s.History.Keep(s.Draft)
	return s
}

// Open replaces the draft, for example by one that was read from a file.
func (s *Session) Open(d config.Draft, file string) {
	s.Draft, s.File = d.Clone(), file
	s.History.Keep(s.Draft)
}

// Join prepares the session for adding machines to the running cluster that the draft describes. It reports whether
// the password of the nodes has to be entered, because the cluster's deploy.yaml does not have it.
func (s *Session) Join(d config.Draft, file string) (password bool) {
	s.Open(d, file)
	s.Members = map[string]bool{}
	for _, m := range d.Machines {
		s.Members[draft.MachineKey(m)] = true
	}
	password = d.Value("eggo.password-from") == "prompt"
	if password { // the draft writes it again by itself as long as the password is not kept
		s.Draft.Set("eggo.password-from", "")
	}
	return password
}

// Joins reports whether machines are added to a running cluster.
func (s *Session) Joins() bool { return s.Members != nil }

// Member reports whether a machine is in the running cluster already.
func (s *Session) Member(m config.Machine) bool { return s.Members[draft.MachineKey(m)] }

// Fresh returns the machines that join, or all of a new cluster.
func (s *Session) Fresh() []config.Machine { return s.Joining(s.Draft.Machines) }

// Joining returns those of the machines that are not in the running cluster.
func (s *Session) Joining(list []config.Machine) []config.Machine {
	return slices.DeleteFunc(slices.Clone(list), s.Member)
}

// Target returns the path of deploy.yaml.
func (s *Session) Target() string {
	if s.File == "" && s.Usual != nil {
		return s.Usual(s.Draft.Get("cluster-id"))
	}
	return cmp.Or(s.File, "deploy.yaml")
}

// Fingerprint returns everything that preflight and the plan depend on. It is asked for many times while a screen is
// drawn, and a draft takes longer to write than to compare.
func (s *Session) Fingerprint() string {
	if s.text == "" || !s.textOf.Equal(s.Draft) {
		s.textOf, s.text = s.Draft.Clone(), string(s.Draft.YAML())+draft.LoginText(s.Draft)
	}
	return s.text
}

// Check checks the whole draft, updates Cluster and returns the problems.
func (s *Session) Check() config.Problems {
	c, problems := s.Draft.Check("deploy.yaml")
	s.Cluster = c
	return problems
}
