package report

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

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
