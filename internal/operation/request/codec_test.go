package request

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func every() []Request {
	c := Common{
		Source: Source{Cluster: "one", File: "/a/deploy.yaml", Text: []byte("cluster-id: one\n\x00\xff")},
		Limit:  []string{"m1", "role:worker"}, OnFailure: OnFailure{Do: event.TryAgain, Retries: 3}, HostKeys: "strict",
		Trust: Trust{Signers: "/s", AllowUnsigned: true},
		Hooks: Hooks{Before: []string{"a.sh,worker"}, After: []string{"b"}, OfNodes: true},
	}
	nodes := []config.Node{{
		Name: "w1", IP: netip.MustParseAddr("2001:db8::1"), Port: 22, Arch: "arm64",
		Roles: []bundle.Role{bundle.Worker},
	}, {IP: netip.MustParseAddr("192.0.2.1")}}
	return []Request{
		Deploy{c, time.Minute, true, "2"},
		Join{c, nodes, "/list", map[string]Login{"192.0.2.21": {User: "ops", Key: "/k"}},
			map[string]config.NodeSettings{"192.0.2.21": {Labels: map[string]string{"a": ""},
				Taints: []config.Taint{{Key: "d", Value: "e", Effect: "NoSchedule"}}}}},
		Delete{c, []string{"w1"}, time.Minute, true, true},
		Cleanup{c, []string{"192.0.2.9"}, true}, Renew{c}, Snapshot{c, "/out"}, Restore{c, "/snap"},
		Upgrade{c, []string{"/a", "/b"}, time.Minute, true,
			"10%", time.Hour, "curl -f x", "22:00-06:00", true, []Option{OptionSoak}},
		Back{c, time.Minute, true, "3"},
		Backup{c, "/backups", 7, BackupKey{Passphrase: "file:/p", Identity: "/i"}, []string{"age1x"}, "otto"},
		Import{c, "192.0.2.11", "", Login{User: "ops", Key: "/k"}, 2222, "prompt", "env:SUDO"},
		Import{c, "", "/etc/eggo/c", Login{}, 0, "", ""},
		Deploy{}, Deploy{Common: Common{OnFailure: OnFailure{Ask: true}}},
		Deploy{Common: Common{OnFailure: OnFailure{Do: event.LeaveOut}}},
	}
}

func TestRequestsSurviveThePipe(t *testing.T) {
	for _, r := range every() {
		data, err := Encode(r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		got, err := Decode(data)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s\n got %+v (%v)\nwant %+v", data, got, err, r)
		}
	}
}

func TestWithKeepsWhatIsNotCommon(t *testing.T) {
	c := OfCluster("two")
	for _, r := range every() {
		got := With(r, c)
		if !reflect.DeepEqual(got.Base(), c) || !reflect.DeepEqual(With(got, r.Base()), r) {
			t.Errorf("%+v: %+v", r, got)
		}
	}
}

// The cluster with the secrets that were typed stays in the process.
func TestParsedIsNotEncoded(t *testing.T) {
	c := &config.Cluster{Name: "one", SSH: config.SSH{Password: "hunter2"}}
	data, err := Encode(Deploy{Common: Common{Source: Source{Parsed: c}}})
	if err != nil || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("%s (%v)", data, err)
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	for _, in := range []string{
		"", "{}", `{"verb":"reboot","request":{}}`, `{"verb":"deploy","request":{"on_failure":"x"}}`,
	} {
		if r, err := Decode([]byte(in)); err == nil {
			t.Errorf("%q: %+v", in, r)
		}
	}
}

func TestOnFailureAsText(t *testing.T) {
	for _, s := range []string{"", "ask", "abort", "skip", "retry=1", "retry=100"} {
		if o, err := ParseOnFailure(s); err != nil || o.String() != s {
			t.Errorf("%q: %+v %q (%v)", s, o, o, err)
		}
	}
	for _, s := range []string{"retry", "retry=0", "retry=101", "go-on", "Skip"} {
		if o, err := ParseOnFailure(s); err == nil {
			t.Errorf("%q: %+v", s, o)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range every() {
		data, _ := Encode(r)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if !json.Valid(again) {
			t.Errorf("%s", again)
		}
	})
}
