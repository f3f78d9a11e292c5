package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// members are those of etcd by letters: w is well, d is down, l is a learner; capitals leave.
func members(letters string) func(context.Context) ([]Member, error) {
	return func(context.Context) (out []Member, err error) {
		for _, l := range letters {
			m := strings.ToLower(string(l))
			out = append(out, Member{Name: m, Learner: m == "l", Leaves: m != string(l),
				Well: func(context.Context) bool { return m != "d" }})
		}
		return out, nil
	}
}

// The members that stay have to have a quorum among themselves.
func TestEtcdKeepsAQuorumWithoutThoseThatLeave(t *testing.T) {
	for letters, want := range map[string]string{
		"wwW": "warning preflight.leave-even", "wwwW": "", "wwwWW": "", "wdW": "error preflight.leave-quorum",
		"wddWW": "error preflight.leave-quorum", "wwdWW": "", "wD": "", "wwlW": "warning preflight.leave-even",
		"dW": "error preflight.leave-quorum", "www": "", "ww": "",
	} {
		in := newInput()
		in.Removing = []config.Node{{Name: "e", Roles: []bundle.Role{etcdRole}}}
		in.Etcd = members(letters)
		if got := strings.Join(nodestest.Codes(allFindings(t, in, checkQuorum())), " "); got != want {
			t.Errorf("%s: %q, want %q", letters, got, want)
		}
		in.Removing[0].Roles = []bundle.Role{workerRole}
		if got := allFindings(t, in, checkQuorum()); len(got) > 0 {
			t.Errorf("%s: of a worker that leaves: %v", letters, nodestest.Codes(got))
		}
	}
	in := newInput()
	in.Removing = []config.Node{master}
	in.Etcd = func(context.Context) ([]Member, error) {
		return nil, event.NewFault(event.ClassFailed, "etcd.none", errors.New("no member runs"))
	}
	if got := allFindings(t, in, checkQuorum()); !slices.Equal(nodestest.Codes(got),
		[]string{"error preflight.leave-no-quorum"}) ||
		got[0].Fault.Args["cause"] != "no member runs" {
		t.Errorf("%+v", got)
	}
}

// A node that cannot be inspected leaves, is cleaned up around, or stands in the way, as the work is and why it is so.
func TestNodesThatCannotBeInspected(t *testing.T) {
	const own = "error ssh.own"
	for name, c := range map[string]struct {
		check Check
		class event.Class
		ready bool
		force bool
		want  string
	}{
		"it leaves": {checkLeaveGone(), event.ClassFailed, false, false,
			"warning preflight.leave-gone"},
		"it leaves, and is alive": {checkLeaveGone(), event.ClassFailed, true, false,
			"error preflight.leave-alive"},
		"it leaves, alive, by force": {checkLeaveGone(), event.ClassFailed, true, true,
			"warning preflight.leave-gone"},
		"it leaves, and refuses us": {checkLeaveGone(), event.ClassAuth, false, false, own},
		"it leaves, refuses us, by force": {checkLeaveGone(), event.ClassAuth, false, true,
			"warning preflight.leave-gone"},
		"it leaves, at work for another": {checkLeaveGone(), event.ClassLocked, false, true, own},
		"a cleanup": {checkCleanupReachability(), event.ClassFailed, false, false,
			"warning preflight.gone"},
		"a cleanup, and it refuses us":   {checkCleanupReachability(), event.ClassAuth, false, false, own},
		"a cleanup, at work for another": {checkCleanupReachability(), event.ClassLocked, false, false, own},
		"a restore": {checkRestoreAway(), event.ClassFailed, false, false,
			"warning preflight.restore-without"},
		"a deploy":                         {checkUnreachableNodes(), event.ClassFailed, false, false, own},
		"what asks nodes that are there":   {checkReach(), event.ClassFailed, false, false, ""},
		"what checks nodes that are there": {checkSwap(), event.ClassFailed, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput()
			in.Cluster.Nodes = []config.Node{worker}
			in.Force, in.API.Ready = c.force, map[string]bool{worker.Name: c.ready}
			_ = in.KeepFault(worker.Name, event.NewFault(c.class, "ssh.own", errors.New("no route to host")))
			if got := strings.Join(nodestest.Codes(allFindings(t, in, c.check)), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			in.SetFact(worker.Name, nodestest.Good(worker))
			if c.check.Needs != Unseen {
				return
			}
			if got := allFindings(t, in, c.check); len(got) > 0 {
				t.Errorf("when it was inspected: %v", nodestest.Codes(got))
			}
		})
	}
}

// Where no API server answers, a node that leaves is not taken out of the cluster: the check says why.
func TestANodeLeavesAClusterThatDoesNotAnswer(t *testing.T) {
	in := newInput()
	if got := allFindings(t, in, checkLeaveAPI()); len(got) > 0 {
		t.Errorf("it answers: %v", nodestest.Codes(got))
	}
	in.API.Fault = errors.New("connection refused\x1b[31m")
	got := allFindings(t, in, checkLeaveAPI())
	if codes := strings.Join(nodestest.Codes(got), " "); codes != "error preflight.leave-no-api" {
		t.Errorf("%q", codes)
	}
	for _, f := range got {
		if said, _ := i18n.NewPrinter(i18n.English).Fault(&f.Fault); !strings.Contains(said, "connection refused") ||
			strings.Contains(said, "\x1b") {
			t.Errorf("%q", said)
		}
	}
}

// A restore that half of the members had does not let another run begin, but for itself.
func TestARestoreThatIsHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		is   Progress
		err  error
		want string
	}{
		"none": {}, "nobody was touched": {is: Progress{}}, "all have theirs": {is: Progress{Touched: 1, Done: 1}},
		"half": {is: Progress{Touched: 1}, want: "error preflight.restore-half"},
		"nobody can say": {err: event.NewFault(event.ClassPreflight, "state.read", errors.New("no JSON")),
			want: "error state.read"},
	} {
		in := newInput()
		in.Restore = func(context.Context) (Progress, error) { return c.is, c.err }
		if got := strings.Join(nodestest.Codes(allFindings(t, in, checkRestoring())), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Checks of nodes that stand together are made node by node; what is found is told in the order of nodes and checks.
func TestFindingsComeNodeByNode(t *testing.T) {
	in := newInput()
	for _, n := range in.Asked {
		f := nodestest.Good(n)
		f.Swap, f.NoRoute = true, true
		in.SetFact(n.Name, f)
	}
	say := func(code string) Check {
		return Check{Cluster: func(context.Context, *Input) []event.Finding {
			return []event.Finding{Finding(event.Warning, "", code)}
		}}
	}
	ask := Check{Ask: func(_ context.Context, _ *Input, n config.Node, _ *facts.Facts) []event.Finding {
		t.Errorf("%s is asked, to which there is no connection", n.Name)
		return nil
	}}
	var got []string
	for _, f := range allFindings(t, in, say("preflight.gone"), checkSwap(), checkRoute(), ask,
		say("preflight.missing"),
		checkSwap()) {
		got = append(got, f.Host+" "+strings.TrimPrefix(f.Fault.Code, "preflight."))
	}
	if want := []string{" gone", "m1 swap", "m1 no-route", "w1 swap", "w1 no-route", " missing", "m1 swap",
		"w1 swap"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
