package guide

import (
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"testing"
	"time"
)

// The clocks of several machines are described by the largest difference.
func TestSkews(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	for _, c := range []struct {
		list []time.Duration
		want string
	}{
		{[]time.Duration{0, 20 * time.Millisecond}, "same as on this host"},
		{[]time.Duration{0, 100 * time.Millisecond}, "up to 100ms off this host"},
		{[]time.Duration{-2 * time.Second, time.Second}, "up to 2s off this host"},
		{[]time.Duration{time.Second, time.Second}, "1s off this host"},
	} {
		var list []*draft.Probe
		for _, d := range c.list {
			list = append(list, &draft.Probe{Skew: d})
		}
		if got := skews(p, list); got != c.want {
			t.Errorf("%v: %q, not %q", c.list, got, c.want)
		}
	}
}

// Every step but the list of keys, the bundles and the last one has advice, in which every tip says something.
func TestAdvice_OfEachStep(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p, s := i18n.NewPrinter(lang), probed(t)
		for _, step := range allSteps() {
			list := s.Advice(p, step)
			if len(list) == 0 && step != ExtraStep && step != BundleStep && step != ReviewStep {
				t.Errorf("%s: no advice at %s", lang, step)
			}
			for _, x := range list {
				if x.Title == "" || len(x.Tips) == 0 {
					t.Errorf("%s: %s has %+v", lang, step, x)
				}
				for _, y := range x.Tips {
					if y.Text == "" {
						t.Errorf("%s: %s, %s says nothing of %s", lang, step, x.Title, y.Label)
					}
				}
			}
		}
		if x, ok := s.MachineTopic(p, 0); !ok || x.Title != "m1" {
			t.Errorf("%s: of the machine: %+v", lang, x)
		}
		if x, ok := BundleTopic(p, debian("/srv/a.tar.gz", "bookworm")); !ok || len(x.Tips) == 0 {
			t.Errorf("%s: of the bundle: %+v", lang, x)
		}
	}
}
