package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// beard would be check_beard.go, and a word in lists.go.
const beard = `package preflight

func checkBeard() Check { return Check{Name: "beard", Codes: []string{"preflight.fake-beard"}} }
`

// A check is its file, which a list names, and its sentences: nothing else has to know it. This adds one, and asks
// everybody who has to do with checks.
func TestACheckIsAFileAndItsSentences(t *testing.T) {
	row := Check{
		Name: "beard", Codes: []string{"preflight.fake-beard"}, Needs: Unclaimed, When: kubelets,
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Kernel != "bearded" {
				return nil
			}
			return one(event.Error, n, "preflight.fake-beard", "is", f.Kernel)
		},
	}
	with := append(Machine(), row)

	in := newInput()
	for _, n := range in.Asked {
		in.SetFact(n.Name, nodestest.Good(n))
	}
	if got := allFindings(t, in, with...); len(got) > 0 {
		t.Error("with nodes that nothing is wrong with:", nodestest.Codes(got))
	}
	in.Fact("m1").Swap, in.Fact("w1").Kernel = true, "bearded"
	got := allFindings(t, in, with...)
	if !slices.Equal(nodestest.Codes(got), []string{"error preflight.swap", "error preflight.fake-beard"}) ||
		got[1].Host != "w1" {
		t.Error("found:", nodestest.Codes(got))
	}
	var told []string
	err := Tell(func(e event.Event) error { told = append(told, e.(event.Finding).Fault.Code); return nil }, got)
	if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight || f.Args["count"] != "2" ||
		len(told) != 2 {
		t.Errorf("told %v, and the result is %v", told, err)
	}
	in.Fact("w1").Cluster = "mine"
	if got := allFindings(t, in, row); len(got) > 0 {
		t.Error("of a node that it is not about:", nodestest.Codes(got))
	}

	// The first place: a file that no list names is told, and one that has another name.
	files := source(t)
	files["check_beard.go"] = beard
	if got := misplaced(t, files); !slices.Equal(got, []string{"check_beard.go: no list names checkBeard"}) {
		t.Error(got)
	}
	files["check_hair.go"] = beard
	files["lists.go"] = strings.Replace(files["lists.go"], "checkSwap(),", "checkSwap(), checkBeard(),", 1)
	if got := misplaced(t, files); !slices.Equal(got,
		[]string{"check_hair.go does not declare one check of its name"}) {
		t.Error(got)
	}
	// The second place: a code without a sentence is shown as what it would be looked up by.
	if got := unworded([]Check{row}); !slices.Equal(got, []string{"en fault.preflight.fake-beard",
		"en fault.preflight.fake-beard.next", "zh fault.preflight.fake-beard", "zh fault.preflight.fake-beard.next"}) {
		t.Error("missing sentences:", got)
	}
	fault := got[1].Fault
	if text, _ := i18n.NewPrinter(i18n.English).Fault(&fault); !strings.Contains(text, "fault.preflight.fake-beard") {
		t.Errorf("shown as %q", text)
	}
}
