package operation

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// LogFilter says what of a log is wanted; its zero value is all of it.
type LogFilter struct {
	Node   string // steps of this node
	Step   string // steps with this in their ID
	Failed bool   // steps that failed
}

// Logs gives the records of a run that are wanted; follow waits for those that are still to come.
func Logs(
	ctx context.Context, st Store, ref request.Ref, f LogFilter, follow bool,
) (iter.Seq2[event.Record, error], error) {
	files, err := st.Read(ctx, ref.Cluster)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	runs := files.Journal()
	if follow {
		return Filter(journal.Follow(ctx, runs.RunDir(ref.Run), func() bool { return runs.Writing(ref.Run) }), f), nil
	}
	return Filter(journal.Read(runs.RunDir(ref.Run)), f), nil
}

// Filter gives the records of a log that are wanted. The plan goes through in any case: reports have the titles from
// it. The records of before the plan are kept back until it is there where a node is wanted, and all of them where
// only what failed is.
func Filter(records iter.Seq2[event.Record, error], f LogFilter) iter.Seq2[event.Record, error] {
	if f == (LogFilter{}) {
		return records
	}
	return func(yield func(event.Record, error) bool) {
		s := &selection{LogFilter: f, hosts: map[string]string{}, failed: map[string]bool{}}
		var early []event.Record
		waits := f.Node != "" || f.Failed
		for rec, err := range records {
			if err == nil {
				err = s.learn(rec.Event)
			}
			if err != nil {
				yield(event.Record{}, err)
				return
			}
			if waits {
				early = append(early, rec)
			}
			if _, planned := rec.Event.(event.PlanMade); waits && planned && !f.Failed {
				waits = false
				if !s.pass(early, yield) {
					return
				}
				continue
			}
			if !waits && s.wants(rec.Event) && !yield(rec, nil) {
				return
			}
		}
		if !waits {
			return
		}
		if f.Node != "" && !slices.Contains(s.nodes, f.Node) {
			yield(event.Record{}, s.noNode())
			return
		}
		s.pass(early, yield)
	}
}

// selection knows what it takes to say which records are wanted.
type selection struct {
	LogFilter
	nodes  []string
	hosts  map[string]string // of steps
	failed map[string]bool   // steps
}

func (s *selection) learn(e event.Event) error {
	switch e := e.(type) {
	case event.PlanMade:
		for _, h := range e.Hosts {
			s.nodes = append(s.nodes, h.Name)
		}
		for _, st := range e.Steps {
			s.hosts[st.ID] = st.Host
		}
		if s.Node != "" && !slices.Contains(s.nodes, s.Node) {
			return s.noNode()
		}
	case event.StepEnded:
		s.failed[e.Step] = e.Outcome == event.Failed || e.Outcome == event.Unknown || e.Outcome == event.Ignored
	}
	return nil
}

func (s *selection) noNode() error {
	return event.NewFault(event.ClassUsage, "logs.no-node", nil,
		"node", s.Node, "nodes", strings.Join(s.nodes, ", "))
}

// pass gives those of the records that are wanted; false says that nobody wants more.
func (s *selection) pass(records []event.Record, yield func(event.Record, error) bool) bool {
	for _, rec := range records {
		if s.wants(rec.Event) && !yield(rec, nil) {
			return false
		}
	}
	return true
}

func (s *selection) wants(e event.Event) bool {
	switch e := e.(type) {
	case event.RunStarted, event.PlanMade:
		return true
	case event.StepStarted:
		return s.step(e.Step)
	case event.StepRetry:
		return s.step(e.Step)
	case event.StepDecided:
		return s.step(e.Step)
	case event.StepEnded:
		return s.step(e.Step)
	case event.StepUndone:
		return s.step(e.Step)
	case event.Change:
		return s.step(e.Step)
	case event.Notice:
		return s.step(e.Step)
	case event.Output:
		return s.step(e.Step)
	case event.Waiting:
		return s.step(e.Step)
	case event.Finding:
		return s.Step == "" && (s.Node == "" || s.Node == e.Host)
	case event.HostState:
		return s.Step == "" && s.Node == e.Host
	}
	return false
}

func (s *selection) step(id string) bool {
	return (s.Node == "" || s.hosts[id] == s.Node) && strings.Contains(id, s.Step) && (!s.Failed || s.failed[id])
}
