package backend

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestOptionsOfAnUpgrade(t *testing.T) {
	q, err := UsualUpgrade().Request("a", []string{"/b"})
	if err != nil || q.Soak != 10*time.Minute || q.Drain != request.DrainTimeout || q.Batch != "1" {
		t.Errorf("%+v %v", q, err)
	}
	for name, o := range map[string]UpgradeOptions{
		"no soak":  {Drain: "90s"},
		"a window": {Drain: "1h", Window: "22:00-06:00", Soak: "24h"},
	} {
		if _, err := o.Request("a", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]UpgradeOptions{
		"a word": {Drain: "5m", Soak: "long"}, "no drain": {Soak: "1m"}, "below nothing": {Drain: "-1s"},
	} {
		if _, err := o.Request("a", nil); err == nil || event.AsFault(err).Code != "upgrade.duration" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 10 * time.Minute: "10m", 90 * time.Second: "1m30s",
		24 * time.Hour: "24h"} {
		if got := short(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}
