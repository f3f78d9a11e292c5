package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestRuntimeChange: a cluster on Docker goes to containerd, while clients use the API and a Service. The process is
// killed when the first worker has lost Docker, and the same command continues. Every call is answered, nothing of
// Docker is left, and a cleanup leaves the machines as they were.
func TestRuntimeChange(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	u := &upgraded{Stand: s, t: t, cluster: "rt", nodes: []stand.Node{{Name: "n1", Roles: "mne"},
		{Name: "n2", Roles: "n"}, {Name: "n3", Roles: "n"}}}
	example(t, s, "docker.yaml", func(map[string]any) {})
	after, err := s.Deploy("containerd.yaml", u.cluster, u.nodes)
	must(t, "deploy.yaml", err)
	u.file, err = s.Vary(after, "docker-deploy.yaml", "runtime: containerd\n", "runtime: docker\n"+
		"config-extra-args:\n- name: container-engine\n  extra-args: {default-runtime: lab, runtimes: "+
		"'{\"lab\":{\"path\":\"/usr/local/sbin/runc-lab\"}}'}\n")
	must(t, "deploy.yaml", err)
	_, err = s.Each(ctx, 3, aRunc)
	must(t, "runc", err)
	u.before = untouched(t, s, 3)
	deploy(t, s, u.file)
	runsOn(t, s, "docker://")
	u.workload()

	s.Say("== the plan says what is to come, and changes nothing")
	before := u.changes()
	plan := try(t, s, 0, "plan", "deploy", "-f", after)
	if err := plan.Has("changes from docker to containerd", "n1, n2, n3", "nothing was changed"); err != nil ||
		u.changes() != before {
		t.Errorf("the plan: %v\n%s", err, tail(plan.Out, 60))
	}

	s.Say("== from Docker to containerd, killed once")
	c := u.clients()
	began := time.Now()
	r, err := s.Start(ctx, "", "deploy", "-f", after, "--foreground")
	must(t, "deploy", err)
	runs := u.runs()
	reached, err := r.When(ctx, u.cluster, func(all [][]event.Record) bool {
		return len(all) >= runs && slices.ContainsFunc(all[len(all)-1], func(r event.Record) bool {
			e, is := r.Event.(event.Change)
			return is && e.Step == "nodes.turn/n2" && e.Desc.Key == "change.runtime-stop"
		})
	})
	must(t, "watch", err)
	if !reached {
		got, err := r.Wait()
		t.Fatalf("n2 had no turn: %v\n%s", err, tail(got.Out, 40))
	}
	must(t, "kill", r.Signal(syscall.SIGKILL))
	_, err = r.Wait()
	must(t, "deploy", err)
	must(t, "certs renew", stand.Until(ctx, 2*time.Minute, "a renewal is refused for the runtime",
		func(ctx context.Context) error { // what the killed process has begun on the node holds it until it has ended
			got, err := s.Try(ctx, "", "certs", "renew", "--id", u.cluster)
			if err == nil && got.Code != 5 {
				err = fmt.Errorf("exit code %d: %s", got.Code, tail(got.Out, 20))
			}
			if err == nil {
				err = got.Has("runs its containers with docker")
			}
			return err
		}))
	try(t, s, 0, "deploy", "-f", after)
	s.Say("the change took %s", time.Since(began).Round(time.Second))
	for _, rec := range u.last() {
		if e, is := rec.Event.(event.Change); is && strings.HasPrefix(e.Step, "nodes.turn/n1") {
			t.Errorf("n1 was changed again: %s", e.Desc.Key)
		}
	}
	slow, err := s.Lab.Run(ctx, "n1", "journalctl -u etcd --no-pager -o short-iso | "+
		"grep -e 'slow fdatasync' -e 'took too long' | cut -c1-19 | uniq -c | tail -n 40; true")
	must(t, "etcd", err)
	s.Say("how often etcd on n1 was slow, by second:\n%s", slow)
	c.unharmed(t)
	runsOn(t, s, "containerd://")
	_, err = s.Each(ctx, 3, "! command -v docker && ! command -v dockerd && "+
		"! systemctl cat docker.service 2>/dev/null && [ ! -e /var/lib/docker ] && "+
		"[ ! -e /usr/local/bin/cri-dockerd ] && ! pgrep -x dockerd")
	must(t, "docker is gone", err)
	u.spread()
	u.healthy()

	s.Say("== a second one changes nothing")
	before = u.changes()
	try(t, s, 0, "deploy", "-f", after)
	if n := u.changes(); n != before {
		t.Errorf("%d changes were made", n-before)
	}
	u.gone()
}
