package guide

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/redact"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Session is one walk through the wizard: the draft that is edited and what is known about it.
type Session struct {
	Draft config.Draft
	File  string // path of deploy.yaml, if the user entered one
	Steps []Step // in order
	At    int    // the step that the user is at
	Been  map[Step]bool

	// Usual returns the path of deploy.yaml for a cluster if the user enters none; nil: deploy.yaml.
	Usual func(cluster string) string
	// OwnKeys are the user's private keys, of which the first is the default.
	OwnKeys []string
	// Cluster and Problems are the result of the last check of the draft; Cluster is nil while the draft has errors.
	Cluster  *config.Cluster
	Problems config.Problems
	// Members are the machines of the running cluster that others join, by draft.MachineKey; nil for a new cluster.
	Members map[string]bool

	Bundles           []draft.Bundle // that were found, by path
	Built             []string       // of them: built just now
	LookingForBundles bool
	Preflight         Preflight

	probes map[string]*draft.Probe // by draft.MachineKey
	login  string                  // that they are made with

	keyFile  string // file of the private key that was checked last
	keyFault *event.Fault

	history history

	textOf config.Draft // whose text Fingerprint returns
	text   string
}

// New returns a session with an empty draft.
func New() *Session {
	s := &Session{Draft: config.Draft{}.Clone(), Steps: allSteps(), Been: map[Step]bool{}}
	s.history.keep(s.Draft)
	return s
}

// Open replaces the draft, for example by one that was read from a file.
func (s *Session) Open(d config.Draft, file string) {
	s.Draft, s.File = d.Clone(), file
	s.history.keep(s.Draft)
}

// Join makes the session one that adds machines to the running cluster that the draft describes. It asks for the
// password of the nodes only if the cluster's deploy.yaml does not have it.
func (s *Session) Join(d config.Draft, file string) {
	s.Open(d, file)
	s.Members = map[string]bool{}
	for _, m := range d.Machines {
		s.Members[draft.MachineKey(m)] = true
	}
	s.Steps = []Step{MachinesStep, PreflightStep, ReviewStep}
	if d.Value("eggo.password-from") == "prompt" {
		s.Steps = slices.Insert(s.Steps, 0, LoginStep)
		s.Draft.Set("eggo.password-from", "") // it is written again by itself as long as the password is not kept
	}
}

// Omit removes steps that the front end cannot offer.
func (s *Session) Omit(steps ...Step) {
	s.Steps = slices.DeleteFunc(s.Steps, func(t Step) bool { return slices.Contains(steps, t) })
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

// Fingerprint returns everything that preflight and the plan depend on. It is called many times while a screen is
// drawn, and a draft takes longer to write than to compare.
func (s *Session) Fingerprint() string {
	if s.text == "" || !s.textOf.Equal(s.Draft) {
		s.textOf, s.text = s.Draft.Clone(), string(s.Draft.YAML())+draft.LoginText(s.Draft)
	}
	return s.text
}

// Snapshot makes what changed since the last one a step of undo.
func (s *Session) Snapshot() { s.history.changed(s.Draft) }

// Change changes the draft as one step of undo.
func (s *Session) Change(do func()) {
	s.Snapshot()
	do()
	s.Snapshot()
}

// Undo takes the last change back and returns what it changed; false: there is none.
func (s *Session) Undo(p *i18n.Printer) (what string, ok bool) {
	was := s.Draft.Clone()
	if s.Draft, ok = s.history.undo(was); ok {
		what = difference(p, s.Draft, was)
	}
	return what, ok
}

// Redo makes the change that was undone last again and returns what it changes; false: there is none.
func (s *Session) Redo(p *i18n.Printer) (what string, ok bool) {
	was := s.Draft.Clone()
	if s.Draft, ok = s.history.redo(was); ok {
		what = difference(p, was, s.Draft)
	}
	return what, ok
}

// Saved returns what is kept of the session: the draft without passwords, unless they are to be kept, or the machines
// that join a running cluster, and texts that stand in fields and are not part of the draft yet.
func (s *Session) Saved(typed map[string]string) draft.Saved {
	out := draft.Saved{Draft: s.Draft.Clone(), Step: string(s.Now()), File: s.File, When: time.Now(),
		Typed: map[string]string{}}
	if s.Joins() {
		out.Draft = config.Draft{Machines: s.Joining(out.Draft.Machines)}
	}
	if !out.Draft.KeepSecrets {
		out.Draft = out.Draft.WithoutSecrets()
	}
	for field, text := range typed {
		if !out.Draft.KeepSecrets { // a line of an inventory may have some
			text = withoutSecrets(redact.Assigned(text))
		}
		if text != "" {
			out.Typed[field] = text
		}
	}
	return out
}

// withoutSecrets returns a text of machines without the passwords of a table.
func withoutSecrets(text string) string {
	if l := machines.Read(text); l.Secrets > 0 {
		return l.Text()
	}
	return text
}

// SameSaved reports whether two texts of a session that were kept differ in nothing but the time and the step.
func SameSaved(a, b draft.Saved) bool {
	return a.Draft.Equal(b.Draft) && a.File == b.File && maps.Equal(a.Typed, b.Typed)
}

// Offer returns the question whether a session that was kept is continued; false: it has nothing that is missing.
func (s *Session) Offer(kept draft.Saved) (m event.Msg, ok bool) {
	of, key, list := kept.Draft, "wizard.resume", kept.Draft.Machines
	if s.Joins() {
		of, key, list = s.Draft, "wizard.resume.add", s.Joining(list)
		ok = len(list)+len(kept.Typed) > 0
	}
	return event.M(key, "cluster", of.Get("cluster-id"), "count", strconv.Itoa(len(list)),
		"when", kept.When.Local().Format("2006-01-02 15:04")), ok || !s.Joins()
}

// Resume continues a session that was kept, at its step if this one has it. It reports whether it does.
func (s *Session) Resume(kept draft.Saved) bool {
	if s.Joins() { // the cluster may have been replaced
		s.Draft = s.Draft.Clone()
		for _, m := range s.Joining(kept.Draft.Machines) {
			if !slices.ContainsFunc(s.Draft.Machines, func(have config.Machine) bool {
				return draft.MachineKey(have) == draft.MachineKey(m)
			}) { // it may have been pasted before the question was seen
				s.Draft.Machines = append(s.Draft.Machines, m)
			}
		}
	} else {
		s.Draft, s.File = kept.Draft.Clone(), kept.File
	}
	s.Snapshot()
	to := s.Index(Step(kept.Step))
	for _, t := range s.Steps[:to+1] {
		s.Been[t] = true
	}
	return to >= 0
}

// Import replaces the draft by the deploy.yaml of a text. If there is nothing in it, it returns what is wrong.
func (s *Session) Import(data []byte, path string) (bad config.Problem, ok bool) {
	d, problems := config.ReadDraft(data, path)
	if d.Blank() && problems.HasErrors() {
		return problems[0], false
	}
	s.Change(func() { s.Draft = d })
	return bad, true
}

func itoa(n int) string { return strconv.Itoa(n) }
