package manager

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options that cannot be right are refused before anything is connected to.
func TestWrongOptions(t *testing.T) {
	good := Options{Image: pod.Image{Name: "eggops:v1"}, MaxRuns: 1, History: 1}
	for want, change := range map[string]func(*Options){
		"operator.no-image": func(o *Options) { o.Image.Name = "" },
		"operator.limits":   func(o *Options) { o.MaxRuns = 0 },
		"operator.network":  func(o *Options) { o.Refused = []string{"10.0.0.0/8", "10.0.0.1"} },
	} {
		o := good
		change(&o)
		if f := event.AsFault(Run(t.Context(), o)); f == nil || f.Code != want {
			t.Errorf("%v, want %s", f, want)
		}
	}
}
