package report

import (
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Amount(0), "0 B"}, {Amount(1023), "1023 B"}, {Amount(1024), "1.0 KiB"}, {Amount(99<<20 + 1<<19), "99.5 MiB"},
		{Amount(132 << 20), "132 MiB"},
		{Amount(1000 << 20), "1.0 GiB"}, {Amount(3 << 40), "3.0 TiB"}, {Amount(1 << 62), "4096 PiB"},
		{AmountOf(5<<20, 60<<20), "5.0/60.0 MiB"}, {AmountOf(5<<20, 612<<20), "5/612 MiB"},
		{AmountOf(3, 100), "3/100 B"}, {AmountOf(0, 0), "0/0 B"},
		{Clock(0), "0:00"}, {Clock(7400 * time.Millisecond), "0:07"}, {Clock(754 * time.Second), "12:34"},
		{Clock(3723 * time.Second), "1:02:03"},
		{Clock(400 * time.Hour), ">99 h"}, {Lasted(400 * time.Millisecond), "0.4 s"},
		{Lasted(59900 * time.Millisecond), "59.9 s"}, {Lasted(125 * time.Second), "2:05"},
		{fit("kubelet", 9), "kubelet  "}, {fit("registry.k8s.io/coredns/coredns:v1", 12), "coredns:v1  "},
		{fit("中文的名字", 6), "中文… "},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
