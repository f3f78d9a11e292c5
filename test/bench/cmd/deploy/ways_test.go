package main

import (
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// The ways that are asked for are taken in the order of a round; another word is refused.
func TestWaysAreChosen(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		strings.Join(names(), ","): "script eggo kubeadm eggo-kubeadm",
		"eggo-kubeadm,kubeadm":     "kubeadm eggo-kubeadm",
		"eggo":                     "eggo",
		"":                         "",
		"eggo,kubadm":              "",
	} {
		ways, err := choose((&bench{}).all(), list)
		var got []string
		for _, w := range ways {
			got = append(got, w.name)
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v %v", list, got, err)
		}
		if want == "eggo" && uses(ways, stand.Kubeadm) || want == "kubeadm eggo-kubeadm" && uses(ways, stand.Binary) {
			t.Errorf("%q packs the bundle of the other driver", list)
		}
	}
}

// Every way is compared with its floor and with the careful script, as far as these were measured.
func TestOneTableOfAllWays(t *testing.T) {
	t.Parallel()
	ways := (&bench{}).all()
	for i, seconds := range [][]int{{100, 110}, {95, 90}, {200}, {150}} {
		for _, s := range seconds {
			ways[i].took = append(ways[i].took, time.Duration(s)*time.Second)
		}
		ways[i].told = "0.000 begin\n"
	}
	for name, row := range map[string]struct {
		ways []*way
		want []string
	}{
		"all": {ways, []string{"| careful script | 2 | 100.0 | 100.0, 110.0 | 1.00 | 1.00 |\n",
			"| eggo-tui deploy, driver binary | 2 | 90.0 | 95.0, 90.0 | 0.90 | 0.90 |\n",
			"| kubeadm by hand | 1 | 200.0 | 200.0 | 1.00 | 2.00 |\n",
			"| eggo-tui deploy, driver kubeadm | 1 | 150.0 | 150.0 | 0.75 | 1.50 |\n",
			"load 1 1, at the end: load 2 2", "## Time per phase: kubeadm by hand\n\n0.000 begin\n"}},
		"without the script": {ways[2:], []string{"| 150.0 | 150.0 | 0.75 | - |\n"}},
		"without a floor":    {ways[3:], []string{"| 150.0 | 150.0 | - | - |\n"}},
		"none":               {(&bench{}).all(), []string{"| way |"}},
	} {
		var b strings.Builder
		tell(&b, row.ways, "load 1 1", "load 2 2")
		for _, want := range row.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, &b)
			}
		}
	}
}
