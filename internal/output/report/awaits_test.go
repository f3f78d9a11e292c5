package report

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is left of a soak is counted down between two notices of it; what says nothing of an end stays as it is.
func TestWhatIsLeftIsCountedDown(t *testing.T) {
	end := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	soak := event.M("notice.soak", "left", "4h0m0s", "rounds", "9", event.Until, end.Format(time.RFC3339))
	for d, want := range map[time.Duration]string{90 * time.Minute: "1h30m0s", -time.Minute: "0s"} {
		if got := AsOf(soak, end.Add(-d)).Args["left"]; got != want {
			t.Errorf("%s before the end: %s left, want %s", d, got, want)
		}
	}
	if got := AsOf(event.M("notice.soak-miss", "left", "9s", "bytes", "0"), end).Args; got["left"] != "9s" ||
		got["bytes"] != Size(0) {
		t.Error(got)
	}
}

func TestAwaits(t *testing.T) {
	for _, c := range []struct {
		lang i18n.Lang
		w    event.Waiting
		want string
	}{
		{i18n.English, event.Waiting{Process: "dpkg", PID: 7, State: "D"},
			"the node is running dpkg (pid 7, waiting for a disk or the network)"},
		{i18n.English, event.Waiting{PID: 7, State: "x\x1b"}, "the node is running ? (pid 7, running)"},
		{i18n.English, event.Waiting{Process: "flock", PID: 7, State: "S", Lock: "apt", LockPID: 9},
			"flock (pid 7) on the node is waiting for a lock held by apt (pid 9)"},
		{i18n.Chinese, event.Waiting{Process: "dpkg", PID: 7, State: "S"}, "节点正在运行 dpkg（pid 7，睡眠）"},
	} {
		if got := Awaits(i18n.NewPrinter(c.lang), &c.w); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
